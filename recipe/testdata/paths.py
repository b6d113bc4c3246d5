"""What Python makes of paths: lines of hexadecimal digits become JSON, lines of JSON become hexadecimal digits."""

import json
import os
import sys

for line in sys.stdin:
    line = line.rstrip("\n")
    if line.startswith('"'):
        print(os.fsencode(json.loads(line)).hex())
    else:
        path = os.fsdecode(bytes.fromhex(line))
        print(json.dumps(path))
