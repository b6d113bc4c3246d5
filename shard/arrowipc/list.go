package arrowipc

import (
	"fmt"

	"headrace/sample"
	"headrace/tensor"
)

// A list of numbers is one value of a sample, an array, which is a range of the buffer of
// its numbers.

// ofList has a column be a list, if its elements are numbers. elements is how many each
// list has, or Unknown where offsets say it.
func (f *field) ofList(offsets layout, elements int) {
	f.layout, f.refused, f.skipped = lists, listsAreRefused, 1
	if elements != tensor.Unknown {
		f.skipped = 0
	}
	if len(f.children) != 1 || elements < 1 && elements != tensor.Unknown {
		return
	}
	c := f.children[0]
	if c.dictionary != nil || c.layout != fixedWidth || c.meaning != asInt && c.meaning != asFloat {
		return
	}
	dtype := c.dtype()
	if !dtype.Valid() {
		return
	}
	f.meaning, f.refused, f.offsets, f.elements = asList, "", offsets, elements
	f.kind = sample.TensorType(dtype, elements)
}

// list reads an array of lists, and the array of their elements.
func (b *batch) list(f *field, null []bool, rows int) error {
	var offsets buffer
	var err error
	if f.elements == tensor.Unknown {
		if offsets, err = b.buffer(); err != nil {
			return err
		}
	}
	have, nulls, err := b.node()
	if err != nil {
		return err
	}
	valid, err := b.buffer()
	if err != nil {
		return err
	}
	numbers, err := b.buffer()
	if err != nil {
		return err
	}
	v := &f.values
	if v.spans = v.spans[:0]; rows == 0 {
		return nil
	}

	at, size, err := b.base(numbers)
	if err != nil {
		return err
	}
	width := int64(f.children[0].width)
	if have < 0 || have > size/width {
		return b.wrong("%d bytes for %d values of %d", size, have, width)
	}
	if f.elements != tensor.Unknown {
		if n := int64(f.elements); have/n < int64(rows) {
			return b.wrong("%d values for %d lists of %d", have, rows, n)
		}
		for i := range rows {
			f.add(null, i, at+int64(i)*int64(f.elements)*width, int64(f.elements)*width)
		}
	} else if err := b.between(f, f.offsets, offsets, at, have, width, null, rows); err != nil {
		return err
	}
	if nulls == 0 {
		return nil
	}

	present, err := b.raw(valid, (have+7)/8)
	if err != nil {
		return err
	}
	for i, s := range v.spans {
		for k := (s.at - at) / width; s.at >= 0 && k < (s.at-at+s.n)/width; k++ {
			if present[k/8]>>(k%8)&1 == 0 {
				f.refused = fmt.Sprintf("the list in row %d of a batch has an element without a value (null): fill it when you write the file", i)
				return nil
			}
		}
	}
	return nil
}
