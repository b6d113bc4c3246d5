package recipe

import (
	"errors"

	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/sample"
)

// CheckDecoding says what is wrong with the field that an operation decodes, and with
// where the result goes. Some operations open a file themselves, by its path.
func CheckDecoding(in sample.Schema, field, to string, opens bool) error {
	var errs []error
	takes := "a field of bytes"
	if opens {
		takes = "bytes, the content of a file, or text, its path"
	}
	i := in.Find(field)
	switch {
	case i < 0:
		errs = append(errs, Wrong("field", "is %q: the samples have the fields %s", field, words.List(in.Names())))
	case in[i].Type.Kind != sample.Bytes && (!opens || in[i].Type.Kind != sample.Text) || len(in[i].Type.Shape) > 0:
		errs = append(errs, Wrong("field", "is %q, which is %v: must be %s", field, in[i].Type, takes))
	}
	if to != field && in.Find(to) >= 0 {
		errs = append(errs, Wrong("to", "is %q: the samples have a field of this name already", to))
	}
	return errors.Join(errs...)
}
