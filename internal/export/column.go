package export

import (
	"encoding/binary"
	"fmt"
	"regexp"
	"strconv"

	"headrace"
	"headrace/internal/numbers"
	"headrace/sample"
	"headrace/tensor"
)

// column is a field of a batch.
type column struct {
	data     []byte       // of a tensor, row after row
	rowBytes int          // of data
	shape    tensor.Shape // of a row
	texts    []string     // of a text field
}

func (c column) row(i int) []byte { return c.data[i*c.rowBytes:][:c.rowBytes] }

// columns are the fields of a batch, in their order.
func columns(b *headrace.Batch, fields []headrace.Field) []column {
	all := make([]column, len(fields))
	for i, f := range fields {
		if f.Kind == sample.Text {
			all[i].texts = b.Text(f.Name)
			continue
		}
		t, _ := b.Tensor(f.Name)
		all[i].data, all[i].rowBytes, all[i].shape = t.Data, len(t.Data)/b.Rows(), t.Shape[1:]
	}
	return all
}

var fieldName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// checkFields refuses what cannot become a file, or the name of one.
func checkFields(fields []headrace.Field) error {
	for _, f := range fields {
		if f.Kind == sample.Object {
			return fmt.Errorf("%w: the field %q holds Python objects, which neither form can store: make arrays, numbers or text of it, or have the last function leave it out", ErrOptions, f.Name)
		}
		if !fieldName.MatchString(f.Name) {
			return fmt.Errorf("%w: the field %q cannot be a part of a file's name: must be letters, digits, _ and -", ErrOptions, f.Name)
		}
	}
	return nil
}

// integer reads a scalar of a type of whole numbers as text.
func integer(d tensor.DType, b []byte) (text string, ok bool) {
	if d == tensor.Uint64 {
		return strconv.FormatUint(binary.LittleEndian.Uint64(b), 10), true
	}
	n, ok := numbers.Whole(d, b)
	return strconv.FormatInt(n, 10), ok
}

// isInteger reports whether a field is one whole number a sample.
func isInteger(f headrace.Field) bool {
	_, ok := integer(f.DType, make([]byte, 8))
	return ok && f.Kind == sample.Tensor && len(f.Shape) == 0
}
