"""`python -m headrace` is the command `headrace`."""

from ._client.command import main

if __name__ == "__main__":
    main()
