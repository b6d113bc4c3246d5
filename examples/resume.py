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
        for batch in itertools.islice(loader, 3):
            print("before:", batch["key"][0])
        saved = json.dumps(loader.state_dict())  # as it would be in a checkpoint
    print("saved: ", saved)

    with make_loader(folder) as loader:
        loader.load_state_dict(json.loads(saved))
        resumed = next(iter(loader))
        print("after: ", resumed["key"][0])

    with make_loader(folder) as loader:  # without a stop: the fourth batch is the same one
        uncut = next(itertools.islice(loader, 3, None))
    assert list(uncut["key"]) == list(resumed["key"])
    assert (uncut["image"] == resumed["image"]).all()
    print("the same batch, to the pixel, as without the stop")


if __name__ == "__main__":
    main(sys.argv[1])
