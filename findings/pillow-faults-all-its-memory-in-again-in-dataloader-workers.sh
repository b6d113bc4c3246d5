#!/usr/bin/env bash
# Subject: Pillow 13.0.0 and PyTorch 2.15.0 (CPU) on glibc 2.36: a dataset that decodes and resizes a JPEG of 500 × 375.
#
# One would guess that after some calls a worker process works in memory that it has: each image takes what the one before
# has freed, wherever the call is made.
#
# What happens: in a process's main thread, where DataLoader's workers call a dataset, each call faults all its pages in
# again, since the C library gives the end of its heap back to the system as soon as an image is freed. In another thread
# of the same process, which has a heap of its own, next to none. It is not the mmap of large pieces that people know of:
# these images are below the size from which that is done by then. With MALLOC_TRIM_THRESHOLD_ and MALLOC_MMAP_THRESHOLD_
# set, the faults are gone in the main thread, too; on the machine where this was seen the call took a quarter less time.
#
# Where a user meets it: decoding by Pillow in worker processes costs a quarter more CPU than a benchmark in a thread said.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q uv
"$work/venv/bin/uv" pip install -q --python "$work/venv/bin/python" torch==2.15.0 numpy==2.4.6 pillow==13.0.0
cat >"$work/faults.py" <<'END'
import io
import os
import resource
import statistics
import sys
import threading

from PIL import Image
from torch.utils.data import DataLoader, Dataset

image = Image.linear_gradient("L").convert("RGB").resize((500, 375))
image.save(file := io.BytesIO(), "JPEG")
JPEG = file.getvalue()


class Images(Dataset):
    """Each sample is how many pages were faulted in for it."""

    def __len__(self):
        return 200

    def __getitem__(self, n):
        before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
        with Image.open(io.BytesIO(JPEG)) as opened:
            opened.convert("RGB").resize((224, 224), Image.Resampling.BILINEAR).tobytes()
        return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before


def worker():
    return statistics.median([int(n) for batch in DataLoader(Images(), 10, num_workers=1) for n in batch][50:])


def thread():
    found = []
    one = threading.Thread(target=lambda: found.extend(Images()[n] for n in range(200)))
    one.start()
    one.join()
    return statistics.median(found[50:])


in_worker, in_thread = worker(), thread()
print(f"{sys.argv[1]:24} page faults a call: {in_worker:g} in a worker of DataLoader, {in_thread:g} in a thread")
kept = "MALLOC_TRIM_THRESHOLD_" in os.environ
sys.exit(not (in_thread < 20 and (in_worker < 20 if kept else in_worker > 200)))
END
"$work/venv/bin/python" "$work/faults.py" "as they are:"
MALLOC_TRIM_THRESHOLD_=33554432 MALLOC_MMAP_THRESHOLD_=16777216 "$work/venv/bin/python" "$work/faults.py" "with both thresholds:"
echo "a worker's main thread faults all memory of an image in again for each"
