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
	Main     uint32 // of these, microseconds in functions that the client calls with batches
	Released []Slot // leases given back, of any stream
}

const (
	nextFixed   = 16
	nextWaiting = 1 // a flag
	nextMain    = 2 // a flag: Main follows the slots; most programs have no such functions
)

// AppendNext appends the payload of a NEXT frame.
func AppendNext(dst []byte, n Next) []byte {
	le := binary.LittleEndian
	flags := uint32(0)
	if n.Waiting {
		flags = nextWaiting
	}
	if n.Main > 0 {
		flags |= nextMain
	}
	dst = le.AppendUint32(dst, n.Taken)
	dst = le.AppendUint32(dst, flags)
	dst = le.AppendUint32(dst, uint32(len(n.Released)))
	dst = le.AppendUint32(dst, n.Waited)
	for _, s := range n.Released {
		dst = le.AppendUint32(dst, s.Segment)
		dst = le.AppendUint32(dst, s.Slot)
	}
	if n.Main > 0 {
		dst = le.AppendUint32(dst, n.Main)
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
	flags, count := le.Uint32(p[4:]), le.Uint32(p[8:])
	slots, main := 8*uint64(count), uint64(0)
	if flags&nextMain != 0 {
		main = 4
	}
	if uint64(len(p)) != nextFixed+slots+main {
		return fmt.Errorf("%w: NEXT of %d bytes announces %d slots", ErrProtocol, len(p), count)
	}

	n.Taken, n.Waiting, n.Waited, n.Main, n.Released = le.Uint32(p), flags&nextWaiting != 0, le.Uint32(p[12:]), 0, n.Released[:0]
	for p = p[nextFixed:]; len(p) >= 8; p = p[8:] {
		n.Released = append(n.Released, Slot{le.Uint32(p), le.Uint32(p[4:])})
	}
	if main > 0 {
		if n.Main = le.Uint32(p); n.Main == 0 {
			return fmt.Errorf("%w: NEXT has a last field of 0: leave it out", ErrProtocol)
		}
	}
	return nil
}
