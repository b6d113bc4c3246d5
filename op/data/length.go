package data

import (
	"fmt"

	"github.com/headrace/headrace/internal/numbers"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/sample"
)

// mostLength bounds lengths, so that sums of many have a value.
const mostLength = 1 << 40

// lengthOf returns the function from a sample to the length of a field: bytes of a text
// or of a file, the first extent of an array, or a whole number as it is.
func lengthOf(field string, t sample.Type, at record.Column) func(*record.Values) (int, error) {
	switch {
	case at.Kind == record.Texts:
		return func(v *record.Values) (int, error) { return len(v.Texts[at.At]), nil }
	case at.Kind == record.Bytes:
		return func(v *record.Values) (int, error) { return len(v.Bytes[at.At]), nil }
	case len(t.Shape) > 0 && t.Shape[0] >= 0: // it is the same for all
		return func(*record.Values) (int, error) { return t.Shape[0], nil }
	case at.Kind == record.Arrays:
		return func(v *record.Values) (int, error) { return v.Arrays[at.At].Shape[0], nil }
	case at.Kind == record.Images:
		return func(v *record.Values) (int, error) { return v.Images[at.At].Form().Shape()[0], nil }
	}
	return func(v *record.Values) (int, error) {
		n, ok := numbers.Whole(t.DType, v.Numbers[at.At:])
		if !ok || n < 0 || n > mostLength {
			return 0, fmt.Errorf("headrace: the field %q is %d: a length must be at least 0, and at most %d", field, n, int64(mostLength))
		}
		return int(n), nil
	}
}
