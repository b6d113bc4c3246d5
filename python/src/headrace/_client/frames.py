"""The frames that docs/protocol.md defines, which wire/ (Go) has too."""

from __future__ import annotations

from struct import Struct

VERSION = 2

HELLO, SESSION, OPEN, START, NEXT, STATS, CLOSE, GATHER, WORKERS, TRACE, IO, TASK, SHARE, PREVIEW, HERE, GIVER = range(1, 17)
OPENED, SEGMENT, BATCH, EPOCH, ERROR, LOST, NOTE, STATISTICS, CLOSED, GATHERED, STAGES, TRACED, ROWS, LOG, DONE, PREVIEWED = range(17, 33)
PAGE, PAGED = 43, 44

HEADER_FRAME = Struct("<IHHII")  # length, kind, flags, stream, sequence number
NEXT_FRAME = Struct("<IIII")  # taken, flags, slots released, microseconds waited
BATCH_FRAME = Struct("<IIIIqqqII")  # segment, slot, rows, flags, step, epoch, state's epoch, bytes of its place, bytes of text
SEGMENT_FRAME = Struct("<IIQQ")  # id, slots, bytes of a slot, bytes
TASK_FRAME = Struct("<IIII")  # inputs, slots released, bytes of JSON, 0
INPUT = Struct("<QQ")  # of a TASK: where it begins, its length
DONE_FRAME = Struct("<IIIIII")  # segment, slot, flags, bits of an element, extents, bytes of failures

WAITING, MAIN = 1, 2  # flags of NEXT
UNPOOLED, ALONE, TEXT_BESIDE = 1, 2, 4  # flags of BATCH
SLOT = Struct("<II")  # segment, slot
IS_PATH = 1 << 63  # of an INPUT's place
HAS_RESULT, LAST_SLOT = 1, 2  # flags of DONE
