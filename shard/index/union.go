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
	at      [2]map[string]int // places in fields and in numbers, of which there may be ten thousand
	columns []string
	ordered map[string]bool // these
	refused map[string]string
	mixed   map[string]string
	in      [2]map[string]string // of a field, the shard that its type is of
}

const (
	ofParts = iota
	ofNumbers
)

func (u *union) add(s *Segment, shard string) {
	for _, name := range s.Columns {
		if u.ordered == nil {
			u.ordered = map[string]bool{}
		}
		if !u.ordered[name] {
			u.ordered[name] = true
			u.columns = append(u.columns, name)
		}
	}
	for _, f := range s.Fields {
		u.fields = u.join(ofParts, u.fields, f, shard)
	}
	for _, of := range [][]Number{s.Ints, s.Floats} {
		for _, n := range of {
			t := sample.TensorType(n.DType).As(n.Logical)
			u.numbers = u.join(ofNumbers, u.numbers, Field{Name: n.Name, Type: &t, Samples: n.Samples}, shard)
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
func (u *union) join(which int, all []Field, f Field, shard string) []Field {
	if u.at[which] == nil {
		u.in[which], u.at[which] = map[string]string{}, map[string]int{}
	}
	i, known := u.at[which][f.Name]
	if !known {
		u.in[which][f.Name], u.at[which][f.Name] = shard, len(all)
		return append(all, f)
	}
	k := &all[i]
	switch t, ok := common(k, &f); {
	case !ok && k.Type != nil && f.Type != nil:
		u.mix(f.Name, fmt.Sprintf("it is %v in %s, and %v in %s", *k.Type, u.in[which][f.Name], *f.Type, shard))
	case ok && k.Samples == 0 && f.Samples > 0:
		u.in[which][f.Name] = shard
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
		i, both := u.at[ofParts][n.Name]
		if !both || u.fields[i].Type == nil {
			continue
		}
		if u.fields[i].Samples > 0 && n.Samples > 0 {
			part, number := u.in[ofParts][n.Name], u.in[ofNumbers][n.Name]
			u.mix(n.Name, fmt.Sprintf("it is %v in %s, and %v in %s", *u.fields[i].Type, part, *n.Type, number))
		}
	}
}

// settle leaves one of the two if a field is a number in some shards and a part in
// others: that of the shards that have a value, since a column of nulls can be anything.
func (u *union) settle() {
	empty := func(which int, all []Field) func(f Field) bool {
		return func(f Field) bool {
			i, both := u.at[which][f.Name]
			if !both || f.Type == nil || f.Samples > 0 {
				return false
			}
			return all[i].Samples > 0 || which == ofNumbers
		}
	}
	fields, numbers := u.fields, u.numbers
	u.fields = slices.DeleteFunc(slices.Clone(fields), empty(ofNumbers, numbers))
	u.numbers = slices.DeleteFunc(slices.Clone(numbers), empty(ofParts, fields))
}

// meant is the type of values that are laid out alike, if they stand for the same. The
// names of dictionaries are joined, in the order in which they come; beside text they
// are just text.
func meant(a, b *sample.Type) (*sample.Type, bool) {
	x, y := a.Logical, b.Logical
	isDictionary := func(l *sample.Logical) bool { return l != nil && l.Name == sample.Dictionary }
	switch {
	case x.Equal(y):
		return a, true
	case isDictionary(x) && isDictionary(y):
		known := map[string]bool{}
		all := slices.Clone(x.Names)
		for _, name := range x.Names {
			known[name] = true
		}
		for _, name := range y.Names {
			if !known[name] {
				all = append(all, name)
			}
		}
		t := a.As(&sample.Logical{Name: sample.Dictionary, Names: all})
		return &t, true
	case isDictionary(x) && y == nil, isDictionary(y) && x == nil:
		t := a.As(nil)
		return &t, true
	}
	return nil, false
}

// common is the type that values of two fields have. A field that no sample has says
// nothing, and an extent of 0 that no list inside a list was seen.
func common(a, b *Field) (*sample.Type, bool) {
	switch {
	case a.Type == nil || b.Type == nil:
		return nil, a.Type == nil && b.Type == nil
	case b.Samples == 0:
		return a.Type, true
	case a.Samples == 0:
		return b.Type, true
	case a.Type.Equal(*b.Type):
		return meant(a.Type, b.Type)
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
