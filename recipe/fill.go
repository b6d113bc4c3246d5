package recipe

import (
	"maps"
	"slices"

	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/sample"
)

// WithKeys gives samples the field key where those of others have one: each has a name.
func WithKeys(all []sample.Schema) []sample.Schema {
	at := -1
	for _, s := range all {
		if i := s.Find("key"); i >= 0 && s[i].Type.Kind == sample.Text {
			at = i
			break
		}
	}
	if at < 0 {
		return all
	}
	all = slices.Clone(all)
	for i, s := range all {
		if s != nil && s.Find("key") < 0 {
			all[i] = slices.Insert(slices.Clone(s), min(at, len(s)), sample.Field{Name: "key", Type: sample.TextType})
		}
	}
	return all
}

// Filled gives samples the fields that those of others have, in the order in which they
// are first there.
func Filled(all []sample.Schema, fill PadValue) (filled []sample.Schema, wrong []error) {
	var union, lacked sample.Schema
	for _, s := range all {
		for _, f := range s {
			if union.Find(f.Name) < 0 {
				union = append(union, f)
			}
		}
	}
	for _, s := range all {
		if s == nil {
			filled = append(filled, nil)
			continue
		}
		whole := slices.Clone(union)
		for i, f := range union {
			if at := s.Find(f.Name); at >= 0 {
				whole[i] = s[at]
			} else if lacked.Find(f.Name) < 0 {
				lacked = append(lacked, f)
			}
		}
		filled = append(filled, whole)
	}

	for _, f := range lacked {
		number := f.Type.Kind == sample.Tensor && len(f.Type.Shape) == 0
		switch v := fill.Of(f.Name); {
		case f.Type.Kind == sample.Text:
		case !number:
			wrong = append(wrong, Wrong("fill", "is for numbers and text, and the field %q, "+
				"which some lack, is %v: leave it out with drop", f.Name, f.Type))
		case !HasValue(f.Type.DType, v):
			wrong = append(wrong, Wrong("fill", "is %v for the field %q: no %v has this value", v, f.Name, f.Type.DType))
		}
	}
	if slices.ContainsFunc(all, func(s sample.Schema) bool { return s == nil }) {
		return filled, wrong // what the others have is not known yet
	}
	for _, name := range slices.Sorted(maps.Keys(fill.Fields)) {
		if lacked.Find(name) < 0 {
			wrong = append(wrong, Wrong("fill", "names %q: %s", name, lacks(lacked)))
		}
	}
	return filled, wrong
}

func lacks(fields sample.Schema) string {
	if len(fields) == 0 {
		return "no field is missing"
	}
	return "the fields that some lack are " + words.List(fields.Names())
}
