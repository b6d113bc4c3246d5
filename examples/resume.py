"""Stops in the middle of an epoch, saves where it was, and goes on in a new loader with exactly the next batch.

Usage: python resume.py FOLDER
"""

import itertools
import json
import sys

import headrace as hr


def make_loader(folder):
    return hr.files(folder, label="parent").shuffle(seed=7).decode_image().random_resized_crop(96).batch(16).loader(epochs=1)


def main(folder):
    with make_loader(folder) as loader:
        for step, batch in enumerate(loader):
            print("before:", batch["key"][0])
            if step == 2:
                break
        saved = json.dumps(loader.state_dict())  # as it would be in a checkpoint
    print("saved: ", saved)

    with make_loader(folder) as loader:
        loader.load_state_dict(json.loads(saved))
        for batch in loader:
            print("after: ", batch["key"][0])
            break

    with make_loader(folder) as loader:  # without a stop: the fourth batch is the same one
        uncut = next(itertools.islice(loader, 3, None))
    assert list(uncut["key"]) == list(batch["key"])
    assert (uncut["image"] == batch["image"]).all()
    print("the same batch, to the pixel, as without the stop")


if __name__ == "__main__":
    main(sys.argv[1])
