package column

import (
	"fmt"
	"slices"
	"sync"

	"github.com/headrace/headrace/tensor"
)

// joining puts the lines of several fields side by side.
type joining struct {
	as    tensor.DType
	width int // of a line of the result, in numbers
	parts []joined
}

// joined is one of the fields.
type joined struct {
	cast  fill
	width int // of a line, in numbers
	bytes int // of a line
}

// strip is memory for some numbers of one field.
type strip struct {
	from [1]Values
	data [8 * atOnce]byte
}

var strips = sync.Pool{New: func() any { return new(strip) }}

func (j *joining) fill(to []byte, from []Values) *Bad {
	s := strips.Get().(*strip)
	defer func() {
		s.from[0] = Values{}
		strips.Put(s)
	}()

	lines := len(from[0].Data) / j.parts[0].bytes
	column := 0
	for i, p := range j.parts {
		data := from[i].Data
		if n := len(data) / p.bytes; n != lines {
			return &Bad{From: i, Line: -1, Err: fmt.Errorf("has %d rows, and those before it have %d", n, lines)}
		}
		in := p.bytes / p.width
		for at, n := 0, lines*p.width; at < n; at += atOnce {
			some := min(atOnce, n-at)
			s.from[0].Data = data[at*in : (at+some)*in]
			cast := s.data[:some*j.as.Size()]
			if bad := p.cast(cast, s.from[:]); bad != nil {
				return &Bad{From: i, Line: (at + bad.Line) / p.width, Err: bad.Err}
			}
			// Only the size of numbers counts from here on.
			switch j.as.Size() {
			case 1:
				spread[uint8](to, cast, at, p.width, column, j.width)
			case 2:
				spread[uint16](to, cast, at, p.width, column, j.width)
			case 4:
				spread[uint32](to, cast, at, p.width, column, j.width)
			case 8:
				spread[uint64](to, cast, at, p.width, column, j.width)
			}
		}
		column += p.width
	}
	return nil
}

// spread lays numbers into lines, from a column on. The first is number at of the field,
// of which width are in a line.
func spread[T any](to, from []byte, at, width, column, line int) {
	dst, src := numbersOf[T](to), numbersOf[T](from)
	if width == 1 {
		for i, place := 0, at*line+column; i < len(src); i, place = i+1, place+line {
			dst[place] = src[i]
		}
		return
	}
	row, k := at/width, at%width
	for len(src) > 0 {
		n := copy(dst[row*line+column+k:][:width-k], src)
		src = src[n:]
		row, k = row+1, 0
	}
}

// alongside tells whether the first axes of two shapes are the same, as far as they are
// known.
func alongside(a, b tensor.Shape, axes int) bool {
	if len(a) < axes || len(b) < axes { // one of them is refused for that
		return true
	}
	return slices.EqualFunc(a[:axes], b[:axes], func(m, n int) bool { return m == n || m < 0 || n < 0 })
}
