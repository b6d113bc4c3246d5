"""The engine as this process sees it: its process, connections, sessions, shared memory and end."""
