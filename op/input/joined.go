package input

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/lookup"
)

// joined is a table that is looked up, and its fields.
type joined struct {
	*lookup.Join
	names []string
	first int    // of its fields, the place in the schema
	sum   string // of the table
}

// joins are all of a source.
type joins []joined

// openJoins reads the tables. There are fields of other names already.
func (r *ReadShards) openJoins(ctx context.Context, set *shard.Dataset, fields FieldsFrom, names []string,
	o shard.Options) (all joins, err error) {
	for _, l := range r.Lookup {
		j, err := r.openJoin(ctx, set, l, fields, o)
		if ofArgument(err) {
			err = recipe.Wrong("lookup", "of %q: %w", l.Field, err)
		}
		if err != nil {
			return nil, err
		}
		j.first = len(names)
		for _, name := range j.names {
			if slices.Contains(names, name) {
				return nil, recipe.Wrong("lookup", "of %q has %q, and there is such a field already: choose and rename columns of %s, "+
					"as in \"fields\": {%q: %q}", l.Field, name, l.From, l.Field+"_"+name, name)
			}
			names = append(names, name)
		}
		all = append(all, j)
	}
	return all, nil
}

// ofArgument tells whether an error is of what an argument names, such as a column, and
// not of reading it.
func ofArgument(err error) bool {
	return slices.ContainsFunc([]error{shard.ErrNoField, shard.ErrUnsupported, shard.ErrNoValue, lookup.ErrTwice},
		func(is error) bool { return errors.Is(err, is) })
}

func (r *ReadShards) openJoin(ctx context.Context, set *shard.Dataset, l Lookup, fields FieldsFrom,
	o shard.Options) (j joined, err error) {
	if l.Columns != nil {
		return r.joinGiven(ctx, set, l, fields)
	}
	o.Format = ""
	table, err := shard.Open(ctx, []string{string(l.From)}, o)
	if err != nil {
		return j, fmt.Errorf("lookup: %w", err)
	}
	defer table.Close() // it is in memory then

	by := shard.Column{From: l.key()}
	of := l.Fields
	if of == nil {
		if of, err = UsualFields(table); err != nil {
			return j, err
		}
		of = slices.DeleteFunc(slices.Clone(of), func(f FieldFrom) bool { return f.From == by.From })
	}
	var columns []shard.Column
	for _, f := range of {
		columns = append(columns, f.Column())
	}
	t, err := lookup.Read(ctx, table, by, columns, l.Missing == asNull, r.MaxBytes)
	if err != nil {
		return j, err
	}
	j.names, j.sum = of.Names(), table.Digest()
	j.Join, err = t.Join(ctx, set, l.of(fields), r.MaxBytes)
	return j, err
}

// key returns the table's column of keys.
func (l *Lookup) key() string { return cmp.Or(l.Key, l.Field) }

// of returns the keys of samples: those of a field, or of a column that is no field.
func (l *Lookup) of(fields FieldsFrom) shard.Column {
	if i := slices.Index(fields.Names(), l.Field); i >= 0 {
		return fields[i].Column()
	}
	return shard.Column{From: l.Field}
}

// joinGiven is openJoin of a table that the recipe has.
func (r *ReadShards) joinGiven(ctx context.Context, set *shard.Dataset, l Lookup, fields FieldsFrom) (j joined, err error) {
	of := l.Fields
	if of == nil {
		for _, c := range l.Columns {
			if c.Name != l.key() {
				of = append(of, FieldFrom{Name: c.Name, From: c.Name})
			}
		}
	}
	var columns []shard.Column
	for _, f := range of {
		columns = append(columns, f.Column())
	}
	t, err := givenTable(l.Columns, l.key(), columns, l.Missing == asNull)
	if err != nil {
		return j, recipe.Wrong("lookup", "of %q: %w", l.Field, err)
	}
	j.names, j.sum = of.Names(), digestOf(l.Columns)
	j.Join, err = t.Join(ctx, set, l.of(fields), r.MaxBytes)
	return j, err
}

// types appends those of all fields, and their names.
func (all joins) types(types []sample.Type, names []string) ([]sample.Type, []string) {
	for _, j := range all {
		types, names = append(types, j.Types...), append(names, j.names...)
	}
	return types, names
}

// find returns the table that a field is from, and the number of its column; -1: it is
// another one.
func (all joins) find(field int) (table, column int) {
	for k, j := range all {
		if at := field - j.first; at >= 0 && at < len(j.names) {
			return k, at
		}
	}
	return -1, -1
}

// lookedUp is what the digests of tables begin with, after that of the set.
const lookedUp = "+"

// digest tells whether a table is another one; "": there are none.
func (all joins) digest() (text string) {
	for _, j := range all {
		text += lookedUp + j.sum
	}
	return text
}

// indexed reports whether nothing is read for columns, by table.
func (all joins) indexed(columns [][]lookup.Column) bool {
	for k, j := range all {
		if len(columns[k]) > 0 && !j.Indexed() {
			return false
		}
	}
	return true
}

// open returns what fills columns, by table, for one goroutine.
func (all joins) open(columns [][]lookup.Column) (open []gather, err error) {
	for k, j := range all {
		if len(columns[k]) == 0 {
			continue
		}
		g, err := j.Open(columns[k])
		if err != nil {
			return nil, err
		}
		open = append(open, g)
	}
	return open, nil
}

// gather lays columns of samples into memory, and returns how many bytes it read.
type gather = func(ctx context.Context, samples []int64, into []shard.Target) (read int64, err error)
