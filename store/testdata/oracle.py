"""What Python's own modules say. Requests are JSON objects, one a line; paths travel as hexadecimal digits of their bytes."""

import fnmatch
import glob
import json
import os
import sys


def text(digits):
    return os.fsdecode(bytes.fromhex(digits))


def digits(paths):
    return [p.hex() for p in sorted({os.fsencode(p) for p in paths})]


def files_of(pattern):
    """All that fits but folders. For **, glob returns the folder before it too, even if there is none."""
    return [p for p in glob.iglob(pattern, recursive=True) if os.path.lexists(p) and not os.path.isdir(p)]


def files_below(folder, suffixes):
    for where, folders, files in os.walk(folder, followlinks=True):
        folders[:] = [f for f in folders if not f.startswith(".")]
        for name in files:
            if not name.startswith(".") and name.lower().endswith(tuple(suffixes)):
                yield os.path.join(where, name)


for line in sys.stdin:
    request = json.loads(line)
    if "cd" in request:
        os.chdir(text(request["cd"]))
    if request["what"] == "match":
        pattern = text(request["pattern"])
        answer = [fnmatch.fnmatchcase(text(name), pattern) for name in request["names"]]
    elif request["what"] == "glob":
        answer = digits(files_of(text(request["pattern"])))
    else:
        answer = digits(files_below(text(request["pattern"]), request["suffixes"]))
    print(json.dumps(answer), flush=True)
