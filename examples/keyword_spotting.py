"""Trains a small model to tell words apart, with PyTorch: python keyword_spotting.py FOLDER [EPOCHS]

FOLDER has a folder for each word, with recordings of it in any format and at any rate.
"""

import sys

import headrace as hr
import torch


def main(folder, epochs=3):
    words = hr.files(folder, label="parent")
    # Another second of each recording in each epoch; what is shorter is followed by silence.
    train = (
        words.shuffle(seed=0)
        .decode_audio(16000, "mono", duration=0.8, start="random", short="silence")
        .log_mel("whisper", n_mels=40)
    )
    check = words.decode_audio(16000, "mono", duration=0.8, start="center", short="silence").log_mel("whisper", n_mels=40)

    with train.batch(16).to("torch").loader(epochs=epochs) as loader, check.batch(32).to("torch").loader() as checks:
        model = torch.nn.Sequential(
            torch.nn.Conv1d(40, 32, 5, stride=2),
            torch.nn.ReLU(),
            torch.nn.AdaptiveAvgPool1d(1),
            torch.nn.Flatten(),
            torch.nn.Linear(32, len(loader.classes)),
        )
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        loss = torch.tensor(0.0)
        for epoch in range(epochs):
            for batch in loader:
                loss = torch.nn.functional.cross_entropy(model(batch["mel"].mT), batch["label"])  # [n, bands, time]
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with torch.no_grad():
                right = [(model(b["mel"].mT).argmax(1) == b["label"]).float() for b in checks]
            print(f"epoch {epoch}: loss {loss.item():.2f}, {torch.cat(right).mean().item():.0%} right")


if __name__ == "__main__":
    torch.manual_seed(0)
    main(sys.argv[1], *map(int, sys.argv[2:]))
