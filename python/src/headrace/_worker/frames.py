"""What the frames between a worker and the engine have in them: docs/protocol.md, "Workers", which extern/pack.go has too."""

from __future__ import annotations

SESSION, SEGMENT, ERROR = 2, 18, 21  # kinds of frames
SETUP, READY, PACK, RESULTS, ROOM, PULL, FORK, EXITED, FORGET, LETGO = range(33, 43)

# Flags of PACK.
WITH_RANDOM, WITH_INDEX, AS_STREAM, AS_FLUSH, WITH_STATE, OWN_SHARED, AS_FRESH, WITH_EPOCH, AS_RUN = 1, 2, 4, 8, 16, 32, 64, 128, 256
PACK_HEAD = 8  # words
FUNCTION = 7 * 8  # where in PACK the number of the function is

# How a column is there.
GENERAL, ROWS, ALL_SAME, SHARED = 0, 1, 2, 4
IN_ROOM, IS_SAME, IN_WHOLE = 1 << 48, 2 << 48, 3 << 48  # places of results
OFFSET = (1 << 48) - 1
ALL_ARRAYS = -1  # the field of an offer of memory for all of them

HEAP_SPACE = 1  # the number of the heap among memory

# What became of a sample, and flags of RESULTS.
DONE, FAILED, DROPPED = 0, 1, 2
LAST, WITH_FIELDS, RETURNED = 1, 2, 4
IN_WORK = 8  # bits of these flags, above which RETURNED has how many samples are in work beside one
