package wire

import (
	"encoding/binary"
	"fmt"
)

// Segment announces shared memory; its descriptor travels with the frame.
type Segment struct {
	ID        uint32
	Slots     uint32
	SlotBytes uint64
	Bytes     uint64
}

const segmentSize = 24

// AppendSegment appends the payload of a SEGMENT frame.
func AppendSegment(dst []byte, s Segment) []byte {
	le := binary.LittleEndian
	dst = le.AppendUint32(dst, s.ID)
	dst = le.AppendUint32(dst, s.Slots)
	dst = le.AppendUint64(dst, s.SlotBytes)
	return le.AppendUint64(dst, s.Bytes)
}

// ParseSegment reads the payload of a SEGMENT frame. Errors wrap [ErrProtocol].
func ParseSegment(p []byte) (Segment, error) {
	if len(p) != segmentSize {
		return Segment{}, fmt.Errorf("%w: SEGMENT of %d bytes", ErrProtocol, len(p))
	}
	le := binary.LittleEndian
	return Segment{ID: le.Uint32(p), Slots: le.Uint32(p[4:]), SlotBytes: le.Uint64(p[8:]), Bytes: le.Uint64(p[16:])}, nil
}
