package arrowipc

import (
	"fmt"

	"github.com/headrace/headrace/tensor"
)

// Numbers in lists are one value of a sample, an array, which is a range of the buffer of
// numbers: lists in lists are equally long, and follow each other.

// level is an array of lists.
type level struct {
	buf     buffer // of offsets
	fixed   int    // elements of each; 0: offsets say it
	lists   int    // how many there are
	null    []bool // nil: none is
	offsets []byte
	sizes   []byte // of views
	wide    bool   // offsets have 8 bytes
}

// level reads an array of lists, whose validity was read.
func (b *batch) level(f *field, null []bool, n int) (*level, error) {
	l := &level{lists: n, null: null, wide: f.long}
	if f.elements != tensor.Unknown {
		l.fixed = f.elements
		return l, nil
	}
	size := widthOf(f.long)

	var err error
	read := func(n int64) (raw []byte) {
		var buf buffer
		if err == nil {
			buf, err = b.buffer()
			l.buf = buf
		}
		if err == nil && l.lists > 0 {
			raw, err = b.raw(buf, n*size)
		}
		return raw
	}

	if f.sizes == views {
		l.offsets = read(int64(n))
		l.sizes = read(int64(n))
	} else {
		l.offsets = read(int64(n) + 1)
	}
	return l, err
}

// at returns the elements of a list.
func (l *level) at(i int) (from, to int64) {
	switch {
	case l.fixed > 0:
		return int64(i) * int64(l.fixed), int64(i+1) * int64(l.fixed)
	case l.sizes != nil:
		from = offset(l.offsets, i, l.wide)
		return from, from + offset(l.sizes, i, l.wide)
	}
	return offset(l.offsets, i, l.wide), offset(l.offsets, i+1, l.wide)
}

// lists finds the arrays of a leaf that is in lists of these levels.
func (b *batch) lists(f *field, in []*level, null []bool, have int, data, valid buffer) error {
	rows := in[0].lists
	v := &f.values
	if rows == 0 {
		return nil
	}

	raw := int64(f.width) * int64(have)
	if f.layout == bits {
		raw = (int64(have) + 7) / 8
	}
	at, size, err := b.numbersIn(f, data, valid, null, have)
	if err != nil {
		return err
	}
	if size < raw {
		return b.wrong("%d bytes for %d values of %d", size, have, f.width)
	}

	if err := b.enough(in, int64(have)); err != nil {
		return err
	}
	var nulls []int32 // how many are before each number
	if null != nil && !isFloat(f.kind) {
		nulls = make([]int32, have+1)
		for i, n := range null {
			if nulls[i+1] = nulls[i]; n {
				nulls[i+1]++
			}
		}
	}

	width := int64(f.kind.Size())
	for i := range rows {
		if in[0].null != nil && in[0].null[i] {
			v.spans = append(v.spans, span{at: -1})
			continue
		}
		from, to := in[0].at(i)
		if from, to, err = b.within(f, in, i, from, to, int64(have)); err != nil || f.refused != "" {
			return err
		}
		if nulls != nil && nulls[to] > nulls[from] {
			f.refused = fmt.Sprintf("the list in row %d of a batch has an element without a value (null), "+
				"which only floats have (NaN): fill it when you write the file", i)
			return nil
		}
		f.measured(from, to)
		v.spans = append(v.spans, span{at + from*width, (to - from) * width})
	}
	return nil
}

// enough checks that lists of fixed size, which have no buffers, have their elements.
func (b *batch) enough(in []*level, have int64) error {
	for j := len(in) - 1; j >= 0; j-- {
		if l := in[j]; l.fixed > 0 && have/int64(l.fixed) < int64(l.lists) {
			return b.wrong("%d values for %d lists of %d", have, l.lists, l.fixed)
		}
		have = int64(in[j].lists)
	}
	return nil
}

// measured notes how many elements the outermost lists have, where that is said.
func (f *field) measured(from, to int64) {
	if len(f.said) != len(f.shape) || f.said[0] == 0 {
		return
	}
	n := to - from
	for _, inner := range f.shape[1:] {
		n /= max(1, int64(inner))
	}
	f.apart = f.apart || n != int64(f.said[0])
}

// numbersIn is base of numbers, which become others where they are bits, or where floats
// have no value: then what is in the file is no number.
func (b *batch) numbersIn(f *field, data, valid buffer, null []bool, have int) (at, size int64, err error) {
	gaps := null != nil && isFloat(f.kind)
	if !gaps && f.layout != bits || have == 0 {
		return b.base(data)
	}

	size, err = b.sized(data)
	if err != nil {
		return 0, 0, err
	}
	if gaps {
		if err := b.rewritten(valid, (int64(have)+7)/8, blockTarget); err != nil {
			return 0, 0, err
		}
	}

	at = b.space
	if f.layout == bits {
		return at, size, b.rewritten(data, int64(have), blockBits)
	}
	return at, size, b.rewritten(data, int64(have)*int64(f.width), blockRefers|uint64(f.width)<<widthShift)
}

// within goes through the levels in a list, from elements of the outermost to numbers.
func (b *batch) within(f *field, in []*level, row int, from, to, have int64) (first, end int64, err error) {
	for j := 1; j <= len(in); j++ {
		n := have
		if j < len(in) {
			n = int64(in[j].lists)
		}
		if from < 0 || to < from || to > n {
			return 0, 0, b.wrong("value %d is from %d to %d of %d", row, from, to, n)
		}
		if j == len(in) {
			return from, to, nil
		}
		if from, to = b.joined(in[j], f, j, from, to); f.refused != "" {
			return 0, 0, nil
		}
	}
	return from, to, nil
}

// joined are the elements of several lists, which have to be equally long.
func (b *batch) joined(l *level, f *field, axis int, from, to int64) (first, end int64) {
	for i := from; i < to; i++ {
		if b.steps++; b.steps > 1<<20+64*b.f.Size() { // views can have one list any number of times
			f.refused = "its views of lists have more lists than the file"
			return 0, 0
		}
		a, z := l.at(int(i))
		switch n := int(z - a); {
		case l.null != nil && l.null[i]:
			f.refused = "it is a list of lists, of which some have no value (null): fill them when you write the file"
		case f.shape[axis] == notSeen:
			f.shape[axis] = n
		case f.shape[axis] != n:
			f.refused = fmt.Sprintf("it is a list of lists of %d and of %d elements, "+
				"and an array needs equally long ones", f.shape[axis], n)
		case i > from && a != end:
			f.refused = "it is a view of lists that do not follow each other: write it as lists"
		}
		if f.refused != "" {
			return 0, 0
		}
		if i == from {
			first = a
		}
		end = z
	}
	return first, end
}

func isFloat(d tensor.DType) bool {
	return d == tensor.Float16 || d == tensor.Float32 || d == tensor.Float64
}
