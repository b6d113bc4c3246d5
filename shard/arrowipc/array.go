package arrowipc

import (
	"encoding/binary"
	"math"

	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/tensor"
)

// array reads the next array, whose rows are null where above says so. It is in lists of
// these levels. rows is how many values it has; -1: it says that itself. Of what is
// refused it finds the end alone.
func (b *batch) array(f *field, in []*level, above []bool, rows int) error {
	length, nulls, err := b.node()
	if err != nil {
		return err
	}
	if f.layout == noBuffers {
		return nil
	}
	skip := f.refused != ""
	switch {
	case length < 0 || length > math.MaxInt32<<16:
		return b.wrong("an array of %d values", length)
	case rows < 0:
		rows = int(length)
	case !skip && length != int64(rows):
		return b.wrong("an array has %d values for %d rows", length, rows)
	}

	var null []bool
	var valid buffer
	if !f.invalid {
		if valid, err = b.buffer(); err != nil {
			return err
		}
		if !skip {
			if null, err = b.nulls(valid, nulls, above, rows); err != nil {
				return err
			}
		}
	}
	switch f.layout {
	case children, lists, runs:
		return b.nested(f, in, null, nulls, rows)
	}
	return b.leaf(f, in, null, valid, rows)
}

// nested reads an array that has others in it.
func (b *batch) nested(f *field, in []*level, null []bool, nulls int64, rows int) error {
	skip := f.refused != ""
	switch {
	case skip:
		for range f.skipped {
			if _, err := b.buffer(); err != nil {
				return err
			}
		}
	case f.layout == lists:
		l, err := b.level(f, null, rows)
		if err != nil {
			return err
		}
		in, null, rows = append(in[:len(in):len(in)], l), nil, -1
	case f.layout == runs:
		return b.runs(f, rows)
	case len(in) > 0 && nulls > 0:
		walkLeaves(f.children, func(c *field) {
			if c.refused == "" {
				c.refused = "it is a list of structs, of which some have no value (null): fill them when you write the file"
			}
		})
	}

	for _, c := range f.children {
		if skip {
			c.refused = f.refused
		}
		if err := b.array(c, in, null, rows); err != nil {
			return err
		}
	}
	return nil
}

// runs reads the ends of runs, and the value of each.
func (b *batch) runs(f *field, rows int) error {
	ends, of := f.children[0], f.children[1]
	for _, c := range f.children {
		if err := b.array(c, nil, nil, -1); err != nil {
			return err
		}
	}

	if f.refused = of.refused; f.refused != "" {
		return nil
	}
	v, have := &f.values, of.values.count(f.meaning)
	v.clear()
	if ends.values.absent != nil || len(ends.values.ints) != have {
		return b.wrong("%d runs have %d values", len(ends.values.ints), have)
	}
	if of.values.absent != nil {
		v.absent = make([]bool, rows)
	}

	k := 0
	for i := range rows {
		for k < have && ends.values.ints[k] <= int64(i) {
			k++
		}
		if k == have {
			return b.wrong("the runs end before row %d of %d", i, rows)
		}
		v.take(f.meaning, &of.values, k)
	}
	return nil
}

// nulls returns which rows are null; nil: none is.
func (b *batch) nulls(buf buffer, count int64, above []bool, rows int) ([]bool, error) {
	if count == 0 || rows == 0 {
		return above, nil
	}
	valid, err := b.raw(buf, (int64(rows)+7)/8)
	if err != nil {
		return nil, err
	}
	null := make([]bool, rows)
	for i := range null {
		null[i] = valid[i/8]>>(i%8)&1 == 0 || above != nil && above[i]
	}
	return null, nil
}

// leaf reads an array of values.
func (b *batch) leaf(f *field, in []*level, null []bool, valid buffer, rows int) error {
	data, err := b.buffer()
	if err != nil {
		return err
	}
	var bytes buffer
	if f.layout == offsets32 || f.layout == offsets64 {
		if bytes, err = b.buffer(); err != nil {
			return err
		}
	}
	var more []buffer
	if f.layout == views {
		if more, err = b.variadicBuffers(); err != nil {
			return err
		}
	}
	f.values.clear()
	if f.meaning == asList && f.refused == "" {
		return b.lists(f, in, null, rows, data, valid)
	}
	if f.meaning == asTexts && f.refused == "" {
		return b.texts(f, in, null, rows, data, bytes)
	}
	if f.refused != "" || rows == 0 {
		return nil
	}

	switch {
	case f.dictionary != nil:
		return b.indexed(f, data, null, rows)
	case f.meaning == asInt || f.meaning == asFloat:
		return b.numbers(f, data, null, rows)
	case f.layout == fixedWidth:
		return b.fixed(f, data, null, rows)
	case f.layout == views:
		return b.views(f, data, more, null, rows)
	}
	return b.offsets(f, data, bytes, null, rows)
}

// numbers reads whole numbers, booleans and floats.
func (b *batch) numbers(f *field, data buffer, null []bool, rows int) error {
	if f.meaning == asInt {
		f.values.absent = null
	}
	if f.width > 8 {
		return b.decimals(f, data, null, rows)
	}
	raw, err := b.integers(f, data, rows)
	if err != nil {
		return err
	}
	for i := range rows {
		n := raw(i)
		switch {
		case f.meaning == asInt:
			f.values.ints = append(f.values.ints, int64(n))
		case null != nil && null[i]:
			f.values.floats = append(f.values.floats, index.Missing)
		default:
			f.values.floats = append(f.values.floats, toFloat(n, f.width))
		}
	}
	if f.meaning == asFloat {
		f.values.absent = null
	}
	return nil
}

// decimals reads wide decimals that have no more digits than an int64.
func (b *batch) decimals(f *field, data buffer, null []bool, rows int) error {
	raw, err := b.raw(data, int64(rows)*int64(f.width))
	if err != nil {
		return err
	}
	for i := range rows {
		v := raw[i*f.width:][:f.width]
		n := int64(binary.LittleEndian.Uint64(v))
		for _, c := range v[8:] {
			if c != byte(n>>63) && (null == nil || !null[i]) {
				return b.wrong("value %d has more digits than %s", i, f.logical)
			}
		}
		f.values.ints = append(f.values.ints, n)
	}
	return nil
}

// integers returns the bits of each value, of which whole numbers are extended.
func (b *batch) integers(f *field, data buffer, rows int) (func(i int) uint64, error) {
	if f.layout == bits {
		raw, err := b.raw(data, (int64(rows)+7)/8)
		return func(i int) uint64 { return uint64(raw[i/8] >> (i % 8) & 1) }, err
	}
	switch f.width {
	case 1, 2, 4, 8:
	default:
		return nil, b.wrong("numbers of %d bytes", f.width)
	}
	raw, err := b.raw(data, int64(rows)*int64(f.width))
	signed := f.meaning == asInt && !f.unsigned
	return func(i int) (v uint64) {
		for k, c := range raw[i*f.width:][:f.width] {
			v |= uint64(c) << (8 * k)
		}
		if unused := 64 - 8*f.width; signed {
			v = uint64(int64(v<<unused) >> unused)
		}
		return v
	}, err
}

func toFloat(v uint64, width int) float64 {
	switch width {
	case 2:
		return float64(tensor.FromFloat16(uint16(v)))
	case 4:
		return float64(math.Float32frombits(uint32(v)))
	}
	return math.Float64frombits(v)
}

// fixed finds values of one length.
func (b *batch) fixed(f *field, data buffer, null []bool, rows int) error {
	at, size, err := b.base(data)
	if err != nil {
		return err
	}
	width := int64(f.width)
	if size/width < int64(rows) {
		return b.wrong("%d bytes for %d values of %d", size, rows, width)
	}
	for i := range rows {
		f.add(null, i, at+int64(i)*width, width)
	}
	return nil
}

// offsets finds values that are between two offsets.
func (b *batch) offsets(f *field, data, bytes buffer, null []bool, rows int) error {
	at, size, err := b.base(bytes)
	if err != nil {
		return err
	}
	long := f.layout == offsets64
	raw, err := b.raw(data, (int64(rows)+1)*widthOf(long))
	if err != nil {
		return err
	}
	for i := range rows {
		from, to := offset(raw, i, long), offset(raw, i+1, long)
		if from < 0 || to < from || to > size {
			return b.wrong("value %d is from %d to %d of %d", i, from, to, size)
		}
		f.add(null, i, at+from, to-from)
	}
	return nil
}

// views finds values that are in the views themselves, or in one of the buffers.
func (b *batch) views(f *field, data buffer, more []buffer, null []bool, rows int) error {
	raw, err := b.raw(data, int64(rows)*16)
	if err != nil {
		return err
	}
	own, _, err := b.base(data)
	if err != nil {
		return err
	}

	at, sizes := make([]int64, len(more)), make([]int64, len(more))
	for i, buf := range more {
		if at[i], sizes[i], err = b.base(buf); err != nil {
			return err
		}
	}

	for i := range rows {
		if null != nil && null[i] {
			f.add(null, i, 0, 0)
			continue
		}
		view := raw[16*i:][:16]
		n := int64(int32(binary.LittleEndian.Uint32(view)))
		if n >= 0 && n <= 12 {
			f.add(nil, i, own+int64(16*i+4), n)
			continue
		}
		k, from := binary.LittleEndian.Uint32(view[8:]), int64(int32(binary.LittleEndian.Uint32(view[12:])))
		if n < 0 || int64(k) >= int64(len(more)) || from < 0 || n > sizes[k]-from {
			return b.wrong("value %d has %d bytes at %d of buffer %d, which is not there", i, n, from, k)
		}
		f.add(nil, i, at[k]+from, n)
	}
	return nil
}

// indexed takes values of a dictionary.
func (b *batch) indexed(f *field, data buffer, null []bool, rows int) error {
	dict := b.dictionaries[f.id]
	if dict == nil {
		dict = &values{} // all indexes may be null
	}
	if dict.refused != "" {
		f.refused = dict.refused
		return nil
	}

	indexes := field{layout: fixedWidth, meaning: asInt, width: f.width, unsigned: f.unsigned}
	raw, err := b.integers(&indexes, data, rows)
	if err != nil {
		return err
	}
	v, have := &f.values, dict.count(f.meaning) // two fields may claim one dictionary, and differ in kind
	if (f.meaning == asInt || f.meaning == asFloat) && (null != nil || dict.absent != nil) {
		v.absent = make([]bool, rows)
	}
	for i := range rows {
		missing := null != nil && null[i]
		n := raw(i)
		if !missing && n >= uint64(have) {
			return b.wrong("row %d has value %d of a dictionary of %d", i, n, have)
		}
		switch {
		case missing && f.meaning == asInt:
			v.absent[i] = true
			v.ints = append(v.ints, 0)
		case missing && f.meaning == asFloat:
			v.absent[i] = true
			v.floats = append(v.floats, index.Missing)
		case missing:
			v.spans = append(v.spans, span{at: -1})
		default:
			v.take(f.meaning, dict, int(n))
		}
	}
	return nil
}
