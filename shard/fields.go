package shard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/tensor"
)

// Schema is what samples have, with the types that its fields have where nobody says
// otherwise. Not every sample needs to have every field.
func (d *Dataset) Schema() (sample.Schema, error) {
	var all sample.Schema
	for _, f := range d.index.Fields {
		if d.hasRecords() && f.Name == "" {
			continue
		}
		all = append(all, sample.Field{Name: f.Name, Type: typeOf(f)})
	}
	for _, f := range d.index.Numbers {
		t := typeOf(f)
		if _, ok := scaleOf(t.Logical); ok {
			t = sample.TextType.As(t.Logical)
		}
		all = append(all, sample.Field{Name: f.Name, Type: t})
	}
	order := d.index.Compare()
	slices.SortStableFunc(all, func(a, b sample.Field) int { return order(a.Name, b.Name) })
	all = slices.DeleteFunc(all, func(f sample.Field) bool { return d.index.Refused[f.Name] != "" || d.index.Mixed[f.Name] != "" })
	if d.hasRecords() && d.Len() > 0 {
		first, err := d.sniffed()
		if err != nil {
			return nil, err
		}
		all = append(all, first.fields...)
	}
	return all, nil
}

// hasRecords tells whether what samples have is in records.
func (d *Dataset) hasRecords() bool {
	switch d.Format.(type) {
	case Parser, Headed:
		return true
	}
	return false
}

// SelectAll is Select of all that samples have: a record that has another field is an
// error.
func (d *Dataset) SelectAll(ctx context.Context, columns ...Column) (*Reader, error) {
	r, err := d.Select(ctx, columns...)
	if err == nil {
		r.reading.All = true
	}
	return r, err
}

// Select returns what reads these fields. An error lists the fields that there are.
func (d *Dataset) Select(ctx context.Context, columns ...Column) (*Reader, error) {
	r := &Reader{d: d, wiring: make([]wiringOf, len(d.shards)), reading: Reading{Replaces: d.replaces}}
	all, err := d.Schema()
	if err != nil {
		return nil, err
	}
	schema := d.schemaOf(all)
	for _, c := range columns {
		k, err := d.resolve(ctx, schema, c)
		if err != nil {
			return nil, err
		}
		if k.how == field {
			k.want = len(r.want)
			read := k.Type
			if k.IsNull {
				read = sample.TextType // which anything can be
			}
			r.want = append(r.want, sample.Field{Name: c.From, Type: read})
			r.reading.As = append(r.reading.As, k.as)
			r.reading.Nullable = append(r.reading.Nullable, k.filled || k.IsNull)
		}
		r.columns = append(r.columns, k)
	}
	return r, nil
}

// schemaOf is the schema of a set, of which there may be ten thousand fields to look for.
type schemaOf struct {
	sample.Schema
	places  map[string]int // in Schema
	numbers map[string]bool
	parts   map[string]int // in the fields of the index
}

func (d *Dataset) schemaOf(all sample.Schema) *schemaOf {
	s := &schemaOf{Schema: all, places: make(map[string]int, len(all)), parts: make(map[string]int, len(d.index.Fields)),
		numbers: make(map[string]bool, len(d.index.Numbers))}
	for i := len(all) - 1; i >= 0; i-- { // of two with a name, it is the first
		s.places[all[i].Name] = i
	}
	for _, n := range d.index.Numbers {
		s.numbers[n.Name] = true
	}
	for i, f := range d.index.Fields {
		s.parts[f.Name] = i
	}
	return s
}

// Find returns the place of a field; -1: there is none.
func (s *schemaOf) Find(name string) int {
	if i, ok := s.places[name]; ok {
		return i
	}
	return -1
}

// resolve finds out the type of a column, and the value of samples that have none.
func (d *Dataset) resolve(ctx context.Context, schema *schemaOf, c Column) (column, error) {
	asked := c
	if c.IsNull && (d.lenient() || schema.Find(c.From) < 0 && !strings.Contains(c.From, ";")) {
		asked.Type = sample.TextType // of a member, it does not matter what it is
	}
	k, err := d.find(ctx, schema, asked)
	switch {
	case err != nil:
		return k, err
	case (c.Null != nil || c.IsNull) && k.how == field && !d.lenient():
		return k, fmt.Errorf("%w: %q: records of the format %s have no nulls", ErrUnsupported, c.From, d.Format.Name())
	case c.IsNull:
		k.Type, k.as = sample.TensorType(tensor.Bool), AsSaid
	case c.Null != nil:
		err = k.fill(*c.Null)
	}
	if k.how == number && (k.scaled || k.filled || k.IsNull) {
		k.how = derived
	}
	return k, err
}

// find finds out the type of a column.
func (d *Dataset) find(ctx context.Context, schema *schemaOf, c Column) (column, error) {
	k := column{Column: c, parts: []string{c.From}, replaces: d.replaces}
	if err := k.deep(); err != nil {
		return k, err
	}
	i := schema.Find(c.From)
	if i < 0 && strings.Contains(c.From, ";") {
		return d.anyOf(ctx, schema, c)
	}
	if why := d.index.Refused[c.From]; why != "" { // in one of the shards, or from some sample on
		return k, fmt.Errorf("%w: %q: %s", ErrUnsupported, c.From, why)
	}
	if why := d.index.Mixed[c.From]; why != "" {
		return d.mixed(c, why)
	}
	if i < 0 && c.Type.Kind == 0 && d.hasRecords() && d.Len() > 0 {
		if why, err := d.untyped(c.From); why != "" || err != nil {
			return k, cmp.Or(err, fmt.Errorf("%w: %q: %s", ErrUnsupported, c.From, why))
		}
	}
	if c.Type.Kind != 0 && d.isEmpty(c.From) {
		k.how = nothing
		return k, nil
	}
	switch {
	case i < 0 && c.From == keyField:
		k.how = key
		return k, k.take(sample.TextType)
	case i < 0 && c.Type.Kind != 0 && d.lenient():
		k.how = field
		return k, nil
	case i < 0:
		return d.member(ctx, schema, c)
	case schema.numbers[c.From]:
		k.how = number
	}
	is := schema.Schema[i].Type
	if k.how == number {
		if k.scale, k.scaled = scaleOf(is.Logical); k.scaled {
			return k, k.takeDecimal(is)
		}
		if c.Type.Kind != 0 && !isNumber(c.Type) {
			return k, k.misfit(is)
		}
		k.or(is)
		return k, nil
	}

	n, ok := schema.parts[c.From]
	if !ok {
		k.how = field
		if d.lenient() {
			if c.Type.Kind == 0 {
				k.as = d.foundAs(c.From)
			}
			k.or(is)
			return k, nil
		}
		return k, k.take(is)
	}
	if scale, ok := scaleOf(is.Logical); ok {
		k.how, k.scale = decimal, scale
		return k, k.takeDecimal(is)
	}
	if isTexts(c.Type) && text(is) { // a list in JSON
		k.how = member
		return k, nil
	}
	if d.index.Fields[n].Type != nil {
		return k, k.take(is)
	}
	k.or(is) // nobody but the user knows what it is
	if k.Type.Kind == sample.Tensor && len(k.Type.Shape) == 0 {
		k.how = parsed
	}
	return k, nil
}

// mixed resolves a field that has another type in another shard. A type that all of them
// can be has to be said.
func (d *Dataset) mixed(c Column, how string) (column, error) {
	k := column{Column: c, how: asIs, parts: []string{c.From}, replaces: d.replaces}
	part, num := isNamed(d.index.Fields, c.From), isNamed(d.index.Numbers, c.From)
	if unclear := part || !isNumber(c.Type); c.Type.Kind == 0 || num && unclear {
		hint := ""
		if num && !part {
			wide := "int64"
			if strings.Contains(how, "float") || strings.Contains(how, "uint64") {
				wide = "float64"
			}
			hint = fmt.Sprintf(": give the type it should be, as in fields={%q: (%q, %q)}", c.From, c.From, wide)
		}
		if !d.Convertible(c.From) {
			hint = ""
		}
		return k, fmt.Errorf("%w: %q: %s%s", ErrUnsupported, c.From, how, hint)
	}
	if num && !d.Convertible(c.From) {
		return k, fmt.Errorf("%w: %q: %s: the same number would mean different things, so write one of them again",
			ErrUnsupported, c.From, how)
	}
	if num {
		k.how = number
		return k, nil
	}

	for n := range d.shards {
		s, err := d.segment(n)
		if err != nil {
			return k, err
		}
		for _, f := range s.Fields {
			if f.Name != c.From || f.Type == nil {
				continue
			}
			if _, ok := scaleOf(f.Type.Logical); ok {
				return k, fmt.Errorf("%w: %q: %s: write one of them again", ErrUnsupported, c.From, how)
			}
			if err := k.take(*f.Type); err != nil {
				return k, fmt.Errorf("%w in %s", err, d.shards[n].key)
			}
		}
	}
	return k, nil
}

// Convertible reports whether values of another type in another shard are numbers that
// stand for the same: a type that is given can hold them all then.
func (d *Dataset) Convertible(name string) bool {
	if isNamed(d.index.Fields, name) {
		return false
	}
	var first *index.Number
	for n := range d.shards {
		s, err := d.segment(n)
		if err != nil {
			return false
		}
		for i := range s.Ints {
			switch is := &s.Ints[i]; {
			case is.Name != name || is.Samples == 0:
			case first == nil:
				first = is
			case !is.Logical.Equal(first.Logical):
				return false
			}
		}
	}
	return true
}

// isEmpty tells a column of a table of which no sample has a value.
func (d *Dataset) isEmpty(name string) bool {
	is := func(f index.Field) bool { return f.Name == name && f.Type != nil && f.Samples == 0 }
	return d.Len() > 0 && (slices.ContainsFunc(d.index.Fields, is) || slices.ContainsFunc(d.index.Numbers, is))
}

// anyOf resolves names of parts that are one field, such as "jpg;png". Some of them may
// not be there at all.
func (d *Dataset) anyOf(ctx context.Context, schema *schemaOf, c Column) (all column, err error) {
	for name := range strings.SplitSeq(c.From, ";") {
		if schema.Find(name) < 0 {
			continue
		}
		k, err := d.find(ctx, schema, Column{From: name, Type: c.Type})
		switch {
		case err != nil:
			return k, err
		case k.how != asIs && k.how != parsed:
			return k, fmt.Errorf("%w: %q: %q is a column, which all samples have", ErrUnsupported, c.From, name)
		case all.parts == nil:
			all = k
			all.From = c.From
			continue
		case !k.Type.Equal(all.Type):
			return k, fmt.Errorf("%w: %q is %v, and %q is %v: give their type", ErrUnsupported, all.parts[0], all.Type, name, k.Type)
		}
		all.parts = append(all.parts, name)
	}
	if all.parts == nil {
		return all, d.unknown(schema, c.From)
	}
	return all, nil
}

// lenient reports whether records are what a user says of them.
func (d *Dataset) lenient() bool {
	_, ok := d.Format.(Lenient)
	return ok
}

// member resolves a name like "json.caption".
func (d *Dataset) member(ctx context.Context, schema *schemaOf, c Column) (column, error) {
	for i := range c.From {
		if c.From[i] != '.' {
			continue
		}
		part := c.From[:i]
		if n := schema.Find(part); n < 0 || !text(schema.Schema[n].Type) || !d.mayBeJSON(part) {
			continue
		}
		k := column{Column: c, how: member, parts: []string{part}, path: strings.Split(c.From[i+1:], "."), replaces: d.replaces}
		if c.Type.Kind != 0 {
			if c.Type.Kind == sample.Object || len(c.Type.Shape) > mostAxes {
				return k, fmt.Errorf("%w: %q as %v: a member of JSON is text, a number or a list of these", ErrUnsupported, c.From, c.Type)
			}
			return k, nil
		}
		return k, d.typeOfMember(ctx, &k)
	}
	return column{}, d.unknown(schema, c.From)
}

// mayBeJSON tells which parts members are looked for in: in tables all columns of text,
// as few say that theirs is JSON.
func (d *Dataset) mayBeJSON(part string) bool {
	if strings.HasSuffix(part, "json") || strings.HasSuffix(part, "jsn") {
		return true
	}
	i := slices.IndexFunc(d.index.Fields, func(f index.Field) bool { return f.Name == part })
	return i >= 0 && d.index.Fields[i].Type != nil && d.index.Fields[i].Type.Kind == sample.Text
}

func (d *Dataset) unknown(schema *schemaOf, name string) error {
	names := append(schema.Names(), keyField)
	if near := words.Nearest(name, names); near != "" {
		return fmt.Errorf("%w: %q; did you mean %q? The samples have %s", ErrNoField, name, near, words.List(names))
	}
	return fmt.Errorf("%w: %q; the samples have %s", ErrNoField, name, words.List(names))
}

// typeOfMember looks at the first samples that have the part.
func (d *Dataset) typeOfMember(ctx context.Context, k *column) error {
	looked, null := 0, false
	var missing *noMember
	for i := int64(0); i < d.Len() && looked < sniffs; i++ {
		if !d.hasPart(i, k.parts[0]) {
			continue
		}
		b, err := d.part(ctx, i, k.parts[0])
		if err != nil {
			return err
		}
		looked++
		value, err := k.member(b)
		if errors.Is(err, ErrNoValue) {
			if !errors.As(err, &missing) {
				null = true
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %q: %w", d.Key(i), k.From, err)
		}
		k.Type, k.as = typeOfJSON(value), AsFound
		if value[0] == '[' {
			t, open, ok := listType(value)
			if open {
				null = true
				continue
			}
			if !ok {
				t, ok = textsType(value)
			}
			if ok {
				k.Type = t
				return nil
			}
		}
		if value[0] == '[' || value[0] == '{' {
			k.as = AsSource
		}
		return nil
	}
	if looked == 0 {
		return fmt.Errorf("%w: no sample has the part %q", ErrNoField, k.parts[0])
	}
	if !null {
		return fmt.Errorf("%s: %q: %w: %w", d.Key(0), k.From, ErrNoField, missing)
	}
	return fmt.Errorf("%w: %q has no value in the first %s, so its type is not known: give it, as in fields={%q: (%q, \"float64\")}",
		ErrNoField, k.From, words.Plural(int64(looked), "sample"), k.From, k.From)
}
