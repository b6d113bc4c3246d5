package index

import (
	"fmt"
	"slices"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// union is what all shards together have.
type union struct {
	fields  []Field
	numbers []Field
	refused map[string]string
	mixed   map[string]string
	in      map[string]string // of a field, the shard that its type is of
}

func (u *union) add(s *Segment, shard string) {
	for _, f := range s.Fields {
		u.fields = u.join(u.fields, f, shard)
	}
	for _, of := range [][]Number{s.Ints, s.Floats} {
		for _, n := range of {
			t := sample.TensorType(n.DType)
			u.numbers = u.join(u.numbers, Field{Name: n.Name, Type: &t, Samples: n.Samples}, shard)
		}
	}
	for name, why := range s.Refused {
		if u.refused == nil {
			u.refused = map[string]string{}
		}
		if u.refused[name] == "" {
			u.refused[name] = why
		}
	}
	u.bothKinds()
}

// join adds a shard's field to those of the shards before it.
func (u *union) join(all []Field, f Field, shard string) []Field {
	if u.in == nil {
		u.in = map[string]string{}
	}
	i := slices.IndexFunc(all, func(k Field) bool { return k.Name == f.Name })
	if i < 0 {
		u.in[f.Name] = shard
		return append(all, f)
	}
	k := &all[i]
	switch t, ok := common(k, &f); {
	case !ok && k.Type != nil && f.Type != nil:
		u.mix(f.Name, fmt.Sprintf("it is %v in %s, and %v in %s", *k.Type, u.in[f.Name], *f.Type, shard))
	case ok && k.Samples == 0 && f.Samples > 0:
		u.in[f.Name] = shard
		k.Type = t
	default:
		k.Type = t
	}
	k.Samples, k.Bytes, k.Most = k.Samples+f.Samples, k.Bytes+f.Bytes, max(k.Most, f.Most)
	return all
}

func (u *union) mix(name, how string) {
	if u.mixed == nil {
		u.mixed = map[string]string{}
	}
	if u.mixed[name] == "" {
		u.mixed[name] = how
	}
}

// bothKinds finds fields that are numbers in one shard and parts in another.
func (u *union) bothKinds() {
	for _, n := range u.numbers {
		if i := slices.IndexFunc(u.fields, func(f Field) bool { return f.Name == n.Name }); i >= 0 && u.fields[i].Type != nil {
			u.mix(n.Name, fmt.Sprintf("it is %v in some shards, and %v in others", *u.fields[i].Type, *n.Type))
		}
	}
}

// common is the type that values of two fields have. A field that no sample has says
// nothing, and an extent of 0 that no list inside a list was seen.
func common(a, b *Field) (*sample.Type, bool) {
	switch {
	case a.Type == nil || b.Type == nil:
		return nil, a.Type == nil && b.Type == nil
	case a.Type.Equal(*b.Type) || b.Samples == 0:
		return a.Type, true
	case a.Samples == 0:
		return b.Type, true
	case a.Type.Kind != sample.Tensor, a.Type.Kind != b.Type.Kind, a.Type.DType != b.Type.DType:
		return nil, false
	case len(a.Type.Shape) < 2, len(a.Type.Shape) != len(b.Type.Shape):
		return nil, false
	}

	t := sample.TensorType(a.Type.DType, a.Type.Shape...)
	for axis, n := range b.Type.Shape {
		switch k := &t.Shape[axis]; {
		case *k == n || n == 0 && axis > 0:
		case *k == 0 && axis > 0:
			*k = n
		case axis == 0:
			*k = tensor.Unknown
		default:
			return nil, false
		}
	}
	return &t, true
}
