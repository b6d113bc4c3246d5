package data

import (
	"context"
	"slices"

	"github.com/headrace/headrace/internal/numbers"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

// FieldChange is a part of a recipe that takes fields away or gives them other names.
// Every name has a column of its own, so that nothing moves where ways join; values move
// here, as descriptors of memory that stays where it is.
type FieldChange struct {
	env     *core.Env
	copies  [][2]record.Column // first of all
	swaps   [][2]record.Column // one after the other: what is moved away from changes places with what is there
	dropped []record.Column    // which hold nothing then
	key     record.Column      // that gets the sample's name; the zero Column: none does
	source  record.Column      // that gets the name of its source in a mix, likewise
	fills   []filled
	length  func(*record.Values) (int, error) // that of a field, which the sample is weighed by; nil: none is
}

// filled is a field that is the same in all samples.
type filled struct {
	at     record.Column
	number []byte // nil: it is text, and empty
	text   string // "", or no list
}

// NewKey returns what gives samples their name as a field.
func NewKey(w *core.Env, where *record.Columns) *FieldChange {
	return &FieldChange{env: w, key: where.Put("key", sample.TextType)}
}

// NewSource returns what gives samples the name of their source in a mix as a field.
func NewSource(w *core.Env, field string, where *record.Columns) *FieldChange {
	return &FieldChange{env: w, source: where.Put(field, sample.TextType)}
}

// NewLength returns what notes the length of a field.
func NewLength(w *core.Env, field string, in sample.Schema, where *record.Columns) *FieldChange {
	return &FieldChange{env: w, length: lengthOf(field, in[in.Find(field)].Type, where.Of[field])}
}

// NewFill returns what gives samples fields that they lack.
func NewFill(w *core.Env, in, whole sample.Schema, with recipe.PadValue, where *record.Columns) *FieldChange {
	p := &FieldChange{env: w}
	for _, f := range whole {
		if in.Find(f.Name) >= 0 {
			continue
		}
		one := filled{at: where.Put(f.Name, f.Type)}
		if f.Type.Kind == sample.Tensor {
			one.number = numbers.Append(nil, f.Type.DType, with.Of(f.Name))
		} else if len(f.Type.Shape) > 0 {
			one.text = record.NoRows
		}
		p.fills = append(p.fills, one)
	}
	return p
}

// NewFieldChange links a step, and returns it with the fields of samples after it.
func NewFieldChange(w *core.Env, s recipe.FieldStep, in sample.Schema, where *record.Columns) (*FieldChange, sample.Schema) {
	p := &FieldChange{env: w}
	out, _ := s.Check(in) // checked with the recipe
	before, after := s.Kept(in)

	old := map[string]record.Column{}
	for _, f := range in {
		old[f.Name] = where.Take(f.Name)
	}
	var from, to []record.Column
	for i, name := range before {
		at, first := old[name]
		if !first {
			at = where.Of[name] // no step gives other names and copies
			p.copies = append(p.copies, [2]record.Column{at, where.PutLike(after[i], at)})
			continue
		}
		if after[i] == name {
			where.Of[name] = at
		} else {
			from, to = append(from, at), append(to, where.PutLike(after[i], at))
		}
		delete(old, name)
	}

	// A value that is in the way of another changes places with it, and is found there.
	for i := range from {
		if from[i] != to[i] {
			p.swaps = append(p.swaps, [2]record.Column{from[i], to[i]})
		}
		for k := i + 1; k < len(from); k++ {
			if from[k] == to[i] {
				from[k] = from[i]
			}
		}
	}

	taken := map[record.Column]bool{}
	for _, at := range where.Of {
		taken[at] = true
	}
	for _, at := range old {
		if !taken[at] {
			p.dropped = append(p.dropped, at)
		}
	}
	for _, s := range p.swaps {
		if !taken[s[0]] {
			p.dropped = append(p.dropped, s[0])
		}
	}
	return p, out
}

// Run implements part.
func (p *FieldChange) Run(_ context.Context, it *record.Record, _ *core.Tool) error {
	for _, c := range p.copies {
		p.env.Again(it.Values, c[0], c[1])
	}
	for _, s := range p.swaps {
		it.Values.Swap(s[0], s[1])
	}
	for _, at := range p.dropped {
		it.Values.Forget(at)
	}
	if p.key.Kind == record.Texts {
		it.Values.Texts[p.key.At] = it.Key
	}
	if p.source.Kind == record.Texts {
		it.Values.Texts[p.source.At] = it.Source.Path
	}
	for _, f := range p.fills {
		if f.number == nil {
			it.Values.Texts[f.at.At] = f.text
		} else {
			copy(it.Values.Numbers[f.at.At:], f.number)
		}
	}
	p.env.Settle(it)
	if p.length == nil {
		return nil
	}
	n, err := p.length(it.Values)
	it.Length = n
	return err
}

// Before returns where the value of a column was before the change; false if it has made
// the value.
func (p *FieldChange) Before(at record.Column) (record.Column, bool) {
	if at == p.key || at == p.source || slices.ContainsFunc(p.fills, func(f filled) bool { return f.at == at }) {
		return at, false
	}
	for _, s := range slices.Backward(p.swaps) {
		switch at {
		case s[0]:
			at = s[1]
		case s[1]:
			at = s[0]
		}
	}
	for _, c := range p.copies {
		if at == c[1] {
			at = c[0]
		}
	}
	return at, true
}

// Foresee implements part.
func (p *FieldChange) Foresee(_ *record.Record, t *core.Tool) (bytes int64) {
	for _, c := range p.copies {
		if c[0].Kind != record.Images {
			continue
		}
		if f := t.Forms[c[0].At]; p.env.Shared != nil && f.Height > 0 {
			t.Put(c[1].At, f)
			bytes += record.StoredBytes(f)
		} else {
			t.Share(c[0].At, c[1].At)
		}
	}
	for _, s := range p.swaps {
		if a, b := s[0].At, s[1].At; s[0].Kind == record.Images {
			t.Swap(a, b)
		}
	}
	t.Forget(p.dropped)
	return bytes
}
