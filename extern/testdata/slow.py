"""A module whose import does not end."""

import time

print("begins", flush=True)
time.sleep(1000)
