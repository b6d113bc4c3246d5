#!/usr/bin/env bash
# Subject: cloudpickle 3.1.3 on CPython 3.11, a class with __slots__ that the other process cannot import (of __main__, or local).
#
# One would guess that the class which loads is made with its slots: cloudpickle leaves their descriptors out of the pickle, since
# "they are created from __slots__".
#
# What happens: __slots__ is set after the class was made, when it has no effect. The class has no slot, and its objects have a
# __dict__. They cannot be pickled back into the program that defined it: its objects have no place for that __dict__.
#
# Where a user meets it: a script's own @dataclass(slots=True) goes to a worker without a word, and fails on its way back
# ("object has no attribute '__dict__'"); where it does not come back, objects take the memory that slots were to save, and a
# mistyped attribute is no error.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip -q install cloudpickle==3.1.3
cat >worker.py <<'P'
import pickle, sys
cls = pickle.load(sys.stdin.buffer)
sys.modules["__main__"].Point = cls  # so that its objects are sent by name
one = cls(1)
one.mistyped = 2  # with slots, an AttributeError
sys.stdout.buffer.write(pickle.dumps(one))
P
cat >program.py <<'P'
import cloudpickle, dataclasses, pickle, subprocess, sys

@dataclasses.dataclass(slots=True)
class Point:
    x: int

sent = subprocess.run([sys.executable, "worker.py"], input=cloudpickle.dumps(Point), stdout=subprocess.PIPE, check=True).stdout
try:
    print("came back:", pickle.loads(sent))
except AttributeError as error:
    print("an attribute that Point lacks was set there; it does not come back:", error)
    sys.exit(0)
sys.exit("this has changed")
P
venv/bin/python program.py
