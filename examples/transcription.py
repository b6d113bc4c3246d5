"""Reads recordings and what is said in them, as a model for transcription is trained on it: python transcription.py TABLE

TABLE has a line for each recording: its path, a tab, and the text. Paths are relative to its folder.
"""

import sys
from pathlib import Path

import headrace as hr
import numpy as np


def main(table):
    folder = Path(table).resolve().parent
    lines = [line.split("\t") for line in Path(table).read_text().splitlines()]
    rows = [{"path": str(folder / path), "text": text} for path, text in lines]

    # Recordings of like lengths come together, filled up to the next of these numbers of frames of 10 ms.
    spoken = hr.files(rows, seed=0).shuffle().decode_audio(16000, "mono").log_mel("whisper")
    with spoken.bucket_batch([100, 200, 400, 800, 1600, 3000], size=4).loader(epochs=1) as loader:
        frames = filled = 0
        for batch in loader:
            targets = [np.frombuffer(text.encode(), np.uint8) for text in batch["text"]]  # bytes mean a tokenizer here
            frames += int(batch["mel_length"].sum())
            filled += batch["mel"].shape[0] * batch["mel"].shape[1]
            print(batch["mel"].shape, batch["mel_length"].tolist(), max(map(len, targets)))
    print(f"{len(rows)} recordings, {frames / filled:.0%} of what the model is given is sound")


if __name__ == "__main__":
    main(sys.argv[1])
