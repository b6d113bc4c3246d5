"""A worker that does what its test says, in Python."""

import os


def main(own):
    exec(os.environ["SCRIPT"], {})
