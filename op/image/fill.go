package image

import (
	"errors"
	"math"
	"slices"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/jsonschema"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// Fill is a colour, by channel, or one number for all channels; in JSON a number or a
// list.
type Fill []int

// Takes implements [recipe.Taker].
func (f *Fill) Takes() string { return "a whole number, or one for each channel" }

// JSONSchema implements [recipe.Schemer].
func (Fill) JSONSchema() map[string]any {
	return jsonschema.OneOrList("integer", map[string]any{"minimum": 0, "maximum": math.MaxUint16}, 1, 3, 4)
}

// MarshalJSON writes one number as it is, and several as a list.
func (f Fill) MarshalJSON() ([]byte, error) { return argument.MarshalNumbers(f...), nil }

// UnmarshalJSON reads what MarshalJSON wrote.
func (f *Fill) UnmarshalJSON(b []byte) error {
	n, err := argument.UnmarshalNumbers[int](b, f.Takes(), 1, 2, 3, 4)
	if err == nil {
		*f = n
	}
	return err
}

// color is the colour by channel.
func (f Fill) color() (by [4]uint16) {
	for c := range by {
		switch {
		case len(f) == 1:
			by[c] = uint16(f[0])
		case c < len(f):
			by[c] = uint16(f[c])
		}
	}
	return by
}

// check holds a colour against images of a schema.
func (f Fill) check(in sample.Schema, images []string) error {
	var errs []error
	for _, name := range images {
		if len(f) > 0 {
			errs = append(errs, f.fits(recipe.ImageForm(in[in.Find(name)].Type)))
		}
	}
	return errors.Join(errs...)
}

func (f Fill) fits(form media.Form) error { return f.fitsAs("fill", form) }

// fitsAs is fits of an argument of another name.
func (f Fill) fitsAs(name string, form media.Form) error {
	highest := 255
	if form.DType == tensor.Uint16 {
		highest = 65535
	}
	switch n := form.Color.Channels(); {
	case len(f) > 1 && len(f) != n:
		return recipe.Wrong(name, "is %s: must be one number, or %d, because the image is %v", argument.Written(f), n, form.Color)
	case slices.Min(f) < 0 || slices.Max(f) > highest:
		return recipe.Wrong(name, "is %s: must be from 0 to %d, because the image is %v", argument.Written(f), highest, form.DType)
	}
	return nil
}
