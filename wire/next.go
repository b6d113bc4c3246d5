package wire

import (
	"encoding/binary"
	"fmt"
)

// Slot names a slot of a segment.
type Slot struct{ Segment, Slot uint32 }

// Next is the client's side of the flow of batches.
type Next struct {
	Taken    uint32 // batches of this stream taken since the last NEXT
	Waiting  bool   // the client waits and holds nothing unread
	Waited   uint32 // microseconds that the client's next() took since the last NEXT
	Released []Slot // leases given back, of any stream
}

const nextFixed = 16

// AppendNext appends the payload of a NEXT frame.
func AppendNext(dst []byte, n Next) []byte {
	le := binary.LittleEndian
	flags := uint32(0)
	if n.Waiting {
		flags = 1
	}
	dst = le.AppendUint32(dst, n.Taken)
	dst = le.AppendUint32(dst, flags)
	dst = le.AppendUint32(dst, uint32(len(n.Released)))
	dst = le.AppendUint32(dst, n.Waited)
	for _, s := range n.Released {
		dst = le.AppendUint32(dst, s.Segment)
		dst = le.AppendUint32(dst, s.Slot)
	}
	return dst
}

// ParseNext reads the payload of a NEXT frame into n, whose memory it uses again.
// Errors wrap [ErrProtocol].
func ParseNext(p []byte, n *Next) error {
	if len(p) < nextFixed {
		return fmt.Errorf("%w: NEXT of %d bytes", ErrProtocol, len(p))
	}
	le := binary.LittleEndian
	count := le.Uint32(p[8:])
	if uint64(len(p)) != nextFixed+8*uint64(count) {
		return fmt.Errorf("%w: NEXT of %d bytes announces %d slots", ErrProtocol, len(p), count)
	}
	n.Taken, n.Waiting, n.Waited, n.Released = le.Uint32(p), le.Uint32(p[4:])&1 != 0, le.Uint32(p[12:]), n.Released[:0]
	for p = p[nextFixed:]; len(p) > 0; p = p[8:] {
		n.Released = append(n.Released, Slot{le.Uint32(p), le.Uint32(p[4:])})
	}
	return nil
}
