"""What the contestants are called where people read."""

NAMES = {
    "headrace": "Headrace, exact",
    "headrace, fast": "Headrace, fast",
    "headrace, nice": "Headrace, exact, engine nicer by 5",
    "nothing": "the trainer alone",
    "headrace, processes": "Headrace, worker processes",
    "headrace, threads": "Headrace, threads of one process",
    "torch, DataLoader": "PyTorch, worker processes",
    "spdl, threads": "SPDL, threads",
    "spdl, processes": "SPDL, pool of processes",
    "headrace, 1 worker": "Headrace, 1 worker",
    "headrace, 64 workers": "Headrace, 64 workers",
    "headrace, whole": "Headrace",
    "spdl": "SPDL, its own operations",
    "spdl, quick ops": "SPDL, quick ops",
    "torch, torchvision": "PyTorch, torchvision",
    "torch, Pillow": "PyTorch, Pillow",
    "grain, quick ops": "Grain, threads, quick ops",
    "headrace, completion order": "Headrace, completion order",
    "headrace, input order": "Headrace, input order",
    "python, chain": "three generators of Python, no engine",
    "spdl, one_by_one": "SPDL",
    "spdl, four": "SPDL, concurrency 4",
    "spdl, input_order": "SPDL, concurrency 4, input order",
    "spdl, chunks": "SPDL, lists of 1,000",
    "grain, indexed": "Grain, by index",
    "grain, iterated": "Grain, iterated",
    "grain, threads": "Grain, iterated, 2 threads",
    "tf, one_by_one": "tf.data",
    "tf, parallel": "tf.data, 2 in parallel",
    "tf, completion": "tf.data, 2 in parallel, any order",
    "tf, chunks": "tf.data, vectors of 1,000",
    "torch, chain": "PyTorch, data pipes",
    "torch, workers": "PyTorch, 2 worker processes",
    "torch, chunks": "PyTorch, 2 processes, batches of 1,000",
    "limit": "libjpeg-turbo in C",
    "limit, full size": "libjpeg-turbo in C, full size",
    "limit, function alone": "the function alone, 2 processes",
    "limit, whole": "libjpeg-turbo in C, whole picture",
    "limit, channels of Go": "bare channels of Go",
}


def label_of(label: str) -> str:
    """The longest known beginning of the label by its name, and the rest."""
    for known in sorted(NAMES, key=len, reverse=True):
        if label == known or label.startswith(f"{known}, "):
            return NAMES[known] + label[len(known) :]
    return label
