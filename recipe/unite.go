package recipe

import (
	"fmt"
	"slices"

	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// Unite returns the schema of samples that come from any of several chains: they have the
// same fields of the same dtypes, in the same order. An extent that is not the same
// everywhere is not known. Schemas that are nil are left out.
func Unite(all []sample.Schema, argument func(i int) string) (sample.Schema, error) {
	var out sample.Schema
	first := ""
	for i, s := range all {
		switch {
		case s == nil:
		case out == nil:
			out, first = s, argument(i)
		default:
			if err := differ(s, out, first); err != nil {
				return out, Wrong(argument(i), "%w", err)
			}
			out = common(out, s)
		}
	}
	return out, nil
}

// differ says how a schema differs from the one of the first chain.
func differ(s, first sample.Schema, name string) error {
	for _, f := range first {
		i := s.Find(f.Name)
		switch {
		case i < 0:
			return fmt.Errorf("gives samples without the field %q, which %s has", f.Name, name)
		case !alike(s[i].Type, f.Type):
			return fmt.Errorf("gives the field %q as %s, but %s gives it as %s", f.Name, inFull(s[i].Type), name, inFull(f.Type))
		}
	}
	for _, f := range s {
		if first.Find(f.Name) < 0 {
			return fmt.Errorf("gives samples with the field %q, which %s does not have", f.Name, name)
		}
	}
	if !slices.Equal(s.Names(), first.Names()) {
		return fmt.Errorf("gives the fields %s, but %s gives them in the order %s", words.List(s.Names()), name, words.List(first.Names()))
	}
	return nil
}

// alike reports whether two types differ in their extents at most, and in what is known
// of one of them alone: times of different units are not alike, nor are codes of
// different names.
func alike(a, b sample.Type) bool {
	switch {
	case a.Kind != b.Kind, a.DType != b.DType, a.Axes != b.Axes,
		len(a.Shape) != len(b.Shape), IsImage(a) != IsImage(b),
		a.Logical != nil && b.Logical != nil && !a.Logical.Equal(b.Logical):
		return false
	}
	return !IsImage(a) || ImageForm(a).Color == ImageForm(b).Color
}

// inFull is like "uint8 [?, ?, 3] (HWC)".
func inFull(t sample.Type) string {
	if t.Axes == "" {
		return t.String()
	}
	return fmt.Sprintf("%v (%s)", t, t.Axes)
}

// common is the schema of what may come from either of two, which are alike.
func common(a, b sample.Schema) sample.Schema {
	out := slices.Clone(a)
	for i, f := range out {
		shape := slices.Clone(f.Type.Shape)
		for k := range shape {
			if shape[k] != b[i].Type.Shape[k] {
				shape[k] = tensor.Unknown
			}
		}
		out[i].Type.Shape = shape
		if b[i].Type.Rate != f.Type.Rate {
			out[i].Type.Rate = 0
		}
		if b[i].Type.Logical == nil {
			out[i].Type.Logical = nil
		}
	}
	return out
}
