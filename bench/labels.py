"""What the contestants are called where people read."""

NAMES = {
    "headrace": "Headrace, exact",
    "headrace, fast": "Headrace, fast",
    "headrace, 1 worker": "Headrace, 1 worker",
    "headrace, 64 workers": "Headrace, 64 workers",
    "headrace, whole": "Headrace",
    "spdl": "SPDL, its own operations",
    "spdl, quick ops": "SPDL, quick ops",
    "torch, torchvision": "PyTorch, torchvision",
    "torch, Pillow": "PyTorch, Pillow",
    "grain, quick ops": "Grain, threads, quick ops",
    "limit": "limit",
    "limit, full size": "limit, full size",
    "limit, whole": "limit, whole picture",
}


def label_of(label: str) -> str:
    """The longest known beginning of the label by its name, and the rest."""
    for known in sorted(NAMES, key=len, reverse=True):
        if label == known or label.startswith(f"{known}, "):
            return NAMES[known] + label[len(known) :]
    return label
