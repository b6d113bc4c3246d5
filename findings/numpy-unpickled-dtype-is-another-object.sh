#!/usr/bin/env bash
# Subject: NumPy 2.4.6 and pickle: the dtype of an array that was unpickled.
#
# One would guess that an array's dtype is the one object that np.dtype(np.uint8) gives, as it is for every array that NumPy makes
# itself: so `array.dtype is np.dtype(np.uint8)` looks like a quick and safe test.
#
# What happens: pickle makes a dtype of its own for an array (one for each pickle), which is equal and not identical. Views and
# copies of the array keep that object, so the test fails for all of them, for good.
#
# Where a user meets it: code that is quick for the dtype that it expects and careful otherwise. Where arrays come from other
# processes, such as a data set that was sent to workers, nothing ever takes the quick way, and nothing says so.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy==2.4.6
"$work/venv/bin/python" - <<'PY'
import pickle
import sys

import numpy as np

expected = np.dtype(np.uint8)
made = np.zeros((4, 3), np.uint8)
came = pickle.loads(pickle.dumps(made))
for name, array in (("made here", made), ("its row", made[1]), ("unpickled", came), ("its row", came[1]), ("its copy", came.copy())):
    print(f"{name}: equal {array.dtype == expected}, identical {array.dtype is expected}")
fresh = np.zeros(3, came.dtype)
print(f"a new array of that dtype: identical {fresh.dtype is expected}")
same = [array.dtype is expected for array in (made, made[1], came, came[1], came.copy())]
sys.exit(same != [True, True, False, False, False] or came.dtype != expected)
PY
echo "equal is not identical"
