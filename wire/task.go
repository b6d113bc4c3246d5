package wire

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Task asks for one thing to be done on media, in a session that IO has begun.
type Task struct {
	Released []Slot  // leases given back
	Inputs   []Input // what it is done on
	What     []byte  // what is to be done, as JSON
	Text     []byte  // where the paths among the inputs are
}

// Input is where one input of a [Task] is: in the client's inbox, or, a path, in its
// Text.
type Input struct {
	Path   bool
	At     uint64
	Length uint64
}

const (
	taskFixed = 16
	inputSize = 16
	isPath    = 1 << 63 // of an input's place
)

// AppendTask appends the payload of a TASK frame.
func AppendTask(dst []byte, t *Task) []byte {
	le := binary.LittleEndian
	dst = le.AppendUint32(dst, uint32(len(t.Inputs)))
	dst = le.AppendUint32(dst, uint32(len(t.Released)))
	dst = le.AppendUint32(dst, uint32(len(t.What)))
	dst = le.AppendUint32(dst, 0)
	for _, s := range t.Released {
		dst = le.AppendUint32(dst, s.Segment)
		dst = le.AppendUint32(dst, s.Slot)
	}
	for _, in := range t.Inputs {
		at := in.At
		if in.Path {
			at |= isPath
		}
		dst = le.AppendUint64(dst, at)
		dst = le.AppendUint64(dst, in.Length)
	}
	dst = append(dst, t.What...)
	return append(dst, t.Text...)
}

// ParseTask reads the payload of a TASK frame into t, whose memory it uses again. What
// and Text are in p; the places of paths are in Text, those in the inbox are not looked
// at. Errors wrap [ErrProtocol].
func ParseTask(p []byte, t *Task) error {
	if len(p) < taskFixed {
		return fmt.Errorf("%w: TASK of %d bytes", ErrProtocol, len(p))
	}

	le := binary.LittleEndian
	inputs, released, what := uint64(le.Uint32(p)), uint64(le.Uint32(p[4:])), uint64(le.Uint32(p[8:]))
	rest := p[taskFixed:]
	if 8*released+inputSize*inputs+what > uint64(len(rest)) {
		return fmt.Errorf("%w: TASK of %d bytes announces %d inputs, %d slots and %d bytes of JSON",
			ErrProtocol, len(p), inputs, released, what)
	}

	t.Released, t.Inputs = t.Released[:0], t.Inputs[:0]
	for range released {
		t.Released, rest = append(t.Released, Slot{le.Uint32(rest), le.Uint32(rest[4:])}), rest[8:]
	}

	places := rest[:inputSize*inputs]
	rest = rest[inputSize*inputs:]
	t.What, t.Text = rest[:what:what], rest[what:]

	for ; len(places) > 0; places = places[inputSize:] {
		in := Input{At: le.Uint64(places), Length: le.Uint64(places[8:])}
		in.Path, in.At = in.At&isPath != 0, in.At&^isPath
		if in.Length > math.MaxInt64-in.At || in.Path && in.At+in.Length > uint64(len(t.Text)) {
			return fmt.Errorf("%w: an input of a TASK is %d bytes from %d on", ErrProtocol, in.Length, in.At)
		}
		t.Inputs = append(t.Inputs, in)
	}
	return nil
}

// Done answers a Task.
type Done struct {
	Segment, Slot uint32
	Flags         uint32
	Bits          uint32 // of an element of the result, a whole number, at least 0
	Extents       []uint64
	Failures      []byte // JSON, a list of [Failure]; empty: there are none
}

// The flags of a [Done].
const (
	HasResult = 1 // the slot is the client's, until it gives it back
	LastSlot  = 2 // no other slot of this kind is free: the client is to copy the result and give the slot back
)

const doneFixed = 24

// AppendDone appends the payload of a DONE frame.
func AppendDone(dst []byte, d *Done) []byte {
	le := binary.LittleEndian
	for _, v := range [...]uint32{d.Segment, d.Slot, d.Flags, d.Bits, uint32(len(d.Extents)), uint32(len(d.Failures))} {
		dst = le.AppendUint32(dst, v)
	}
	for _, n := range d.Extents {
		dst = le.AppendUint64(dst, n)
	}
	return append(dst, d.Failures...)
}

// ParseDone reads the payload of a DONE frame; Failures are in p. Errors wrap
// [ErrProtocol].
func ParseDone(p []byte) (*Done, error) {
	if len(p) < doneFixed {
		return nil, fmt.Errorf("%w: DONE of %d bytes", ErrProtocol, len(p))
	}
	le := binary.LittleEndian
	d := &Done{Segment: le.Uint32(p), Slot: le.Uint32(p[4:]), Flags: le.Uint32(p[8:]), Bits: le.Uint32(p[12:])}
	extents, failures, rest := uint64(le.Uint32(p[16:])), uint64(le.Uint32(p[20:])), p[doneFixed:]
	if uint64(len(rest)) != 8*extents+failures {
		return nil, fmt.Errorf("%w: DONE of %d bytes announces %d extents and %d bytes of failures", ErrProtocol, len(p), extents, failures)
	}
	for range extents {
		d.Extents, rest = append(d.Extents, le.Uint64(rest)), rest[8:]
	}
	d.Failures = rest
	return d, nil
}
