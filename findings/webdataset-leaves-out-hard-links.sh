#!/bin/sh
# webdataset 1.0.2 leaves hard links out of the samples of a tar file.
#
# GNU tar stores a file that has two names once, and the second name as a link. One would
# expect webdataset to read both, as tar and Python's tarfile extract both. It skips every
# member that is no regular file, without a word: the sample that has the second name
# lacks the part. It is met where a data set without its duplicates (by rdfind, jdupes or
# "cp -l") is packed with tar.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip -q install webdataset==1.0.2 numpy==2.2.6

printf one > 000.txt
ln 000.txt 001.txt
printf 0 > 000.cls
printf 1 > 001.cls
tar -cf a.tar 000.txt 000.cls 001.txt 001.cls
venv/bin/python - <<'END'
import tarfile

import webdataset

with tarfile.open("a.tar") as t:
    extracted = {m.name: t.extractfile(m).read() for m in t}
samples = {s["__key__"]: {k: v for k, v in s.items() if not k.startswith("__")}
           for s in webdataset.WebDataset("a.tar", shardshuffle=False, empty_check=False)}
print("tarfile:", extracted)
print("webdataset:", samples)
assert extracted["001.txt"] == b"one"
raise SystemExit(samples != {"000": {"txt": b"one", "cls": b"0"}, "001": {"cls": b"1"}})
END
