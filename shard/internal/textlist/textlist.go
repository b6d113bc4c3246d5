// Package textlist has lists of text in the two forms that they take on their way from a
// file to a sample.
//
// In a stream each text has its length before it, in four bytes, as Parquet writes it. Of
// lists in lists each begins with a mark. What comes later in a file is just appended, so
// that a list can go on in another page.
//
// Packed, as a sample has it (docs/protocol.md), are first how many there are, and where
// each ends.
package textlist

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// MostAxes is how deep lists can be: more are rare, and tables cannot be read so.
const MostAxes = 2

// mark and more are no lengths. The axis of the list that begins is added.
const mark = math.MaxUint32 - MostAxes

// MostText is the longest text that a stream can have.
const MostText = math.MaxInt32

// ErrDamaged is of a stream that is none.
var ErrDamaged = errors.New("its lists are damaged")

// AppendMark begins a list on an axis, which is in another list: of two axes, on axis 1.
func AppendMark(stream []byte, axis int) []byte {
	return binary.LittleEndian.AppendUint32(stream, uint32(mark+axis))
}

// AppendText adds a text to the list that was begun last.
func AppendText[S string | []byte](stream []byte, text S) []byte {
	return append(binary.LittleEndian.AppendUint32(stream, uint32(len(text))), text...)
}

// Pack appends the packed form of a list of so many axes. Texts are what each appends for
// them.
func Pack(dst, stream []byte, axes int, each func(dst, text []byte) ([]byte, error)) ([]byte, error) {
	p := packer{each: each, axes: axes}
	dst, rest, err := p.list(dst, stream, 1)
	if err == nil && len(rest) > 0 {
		err = ErrDamaged
	}
	return dst, err
}

type packer struct {
	each func(dst, text []byte) ([]byte, error)
	axes int
}

// list packs what is up to the end of the list that an axis counts.
func (p *packer) list(dst, stream []byte, axis int) (_, rest []byte, err error) {
	n, err := p.count(stream, axis)
	if err != nil {
		return dst, nil, err
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
	ends := len(dst)
	dst = append(dst, make([]byte, 4*(n+1))...)
	begin := len(dst)
	for i := range n {
		if axis < p.axes {
			dst, stream, err = p.list(dst, stream[4:], axis+1)
		} else {
			size := 4 + int(binary.LittleEndian.Uint32(stream))
			dst, err = p.each(dst, stream[4:size])
			stream = stream[size:]
		}
		if err != nil {
			return dst, nil, err
		}
		if len(dst)-begin > math.MaxInt32 {
			return dst, nil, fmt.Errorf("a list has more than %d bytes of text", math.MaxInt32)
		}
		binary.LittleEndian.PutUint32(dst[ends+4*(i+1):], uint32(len(dst)-begin))
	}
	return dst, stream, nil
}

// count counts the elements of a list, and checks that all of them are there.
func (p *packer) count(stream []byte, axis int) (n int, err error) {
	for len(stream) > 0 {
		if len(stream) < 4 {
			return 0, ErrDamaged
		}
		v := int64(binary.LittleEndian.Uint32(stream))
		stream = stream[4:]
		switch at := int(v - mark); {
		case v <= MostText && v <= int64(len(stream)):
			if stream = stream[v:]; axis == p.axes {
				n++
			} else if n == 0 {
				return 0, ErrDamaged // a text that is in no list
			}
		case at < 1 || at >= p.axes:
			return 0, ErrDamaged
		case at < axis:
			return n, nil
		case at == axis:
			n++
		case n == 0:
			return 0, ErrDamaged
		}
	}
	return n, nil
}

// Depth finds out how deep lists of text are whose texts are all on one axis.
type Depth struct {
	text, list int // the axes of texts, and that of the deepest list
	none       bool
}

// List says that there is a list, of which elements are on an axis.
func (d *Depth) List(axis int) { d.list = max(d.list, axis) }

// Text says that there is a text on an axis.
func (d *Depth) Text(axis int) {
	d.none = d.none || d.text > 0 && d.text != axis
	d.text = axis
}

// Other says that there is something that no list of text has.
func (d *Depth) Other() { d.none = true }

// None tells whether they are no lists of text, whatever follows.
func (d *Depth) None() bool { return d.none || d.list > MostAxes || d.text > 0 && d.list > d.text }

// Axes is how deep they are; 0: no text was seen, or they are none.
func (d *Depth) Axes() int {
	if d.None() {
		return 0
	}
	return d.text
}
