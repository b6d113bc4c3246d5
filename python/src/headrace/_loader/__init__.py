"""A loader, and what it can tell: statistics, traces, profiles, previews, replays."""
