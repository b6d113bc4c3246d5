"""`python -m headrace` is the command `headrace`."""

from ._client.command import main

main()
