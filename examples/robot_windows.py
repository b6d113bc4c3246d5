"""Trains a policy that goes on as a robot did, with PyTorch: python robot_windows.py EPISODES.parquet... [EPOCHS]

The files are as LeRobot writes them: a row for each frame, with columns episode_index, timestamp, observation.state and action.
"""

import math
import sys

import headrace as hr
import torch

FPS = 10
PAST = [-0.1, 0.0]  # seconds from a frame, of states that the policy sees
NEXT = [k / FPS for k in range(8)]  # and of actions that it gives


def main(files, epochs=3):
    frames = hr.read(
        files,
        fields={"state": "observation.state", "action": "action"},
        window={"state": PAST, "action": NEXT},
        group="episode_index",
        time="timestamp",
    )
    with frames.shuffle(seed=0).batch(64).to("torch").loader(epochs=epochs) as loader:

        def shape(name):  # the window, and what a row has
            return [n or 0 for n in loader.schema[name].shape or ()][-2:]

        policy = torch.nn.Sequential(
            torch.nn.Flatten(),
            torch.nn.Linear(math.prod(shape("state")), 64),
            torch.nn.ReLU(),
            torch.nn.Linear(64, math.prod(shape("action"))),
            torch.nn.Unflatten(1, shape("action")),
        )
        optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
        loss = torch.zeros(())
        for epoch in range(epochs):
            for batch in loader:
                wrong = (policy(batch["state"]) - batch["action"]).square().mean(-1)
                loss = wrong[~batch["action_is_pad"]].mean()  # what is beyond an episode's end is not learned
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            print(f"epoch {epoch}: loss {loss.item():.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    *names, last = sys.argv[1:]
    if last.isdigit():
        main(names, int(last))
    else:
        main([*names, last])
