package input

import (
	"context"
	"errors"
	"slices"

	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/window"
)

// padded is what the name of a window's mask ends in.
const padded = "_is_pad"

// windowed is a field of windows, and its place in the schema and that of its mask.
type windowed struct {
	*window.Field
	field, pad int
}

// windowFields are all of a source.
type windowFields []windowed

// openWindows finds groups and times, and what reads the fields that have windows.
func (r *ReadShards) openWindows(ctx context.Context, set *shard.Dataset, fields FieldsFrom) (windowFields, error) {
	if r.Window == nil {
		return nil, nil
	}
	wrong := func(argument string, err error) error {
		if ofArgument(err) {
			return recipe.Wrong(argument, "cannot be used: %w", err)
		}
		return err
	}
	groups, err := set.Groups(ctx, r.Group, r.MaxBytes)
	if err != nil {
		return nil, wrong("group", err)
	}
	var times *shard.Times
	if r.Time != "" {
		if times, err = set.Times(ctx, r.Time, groups); err != nil {
			return nil, wrong("time", err)
		}
	}

	var all windowFields
	of := window.New(set, groups, times, r.MaxBytes)
	names := fields.Names()
	for _, one := range r.Window {
		i := slices.Index(names, one.Field)
		if i < 0 {
			return nil, recipe.Wrong("window", "has an %w", words.Unknown("field", one.Field, names))
		}
		if slices.Contains(names, one.Field+padded) {
			return nil, recipe.Wrong("window", "has %q, and its mask would be called as the field %q: rename that in fields",
				one.Field, one.Field+padded)
		}
		f, err := of.Field(ctx, fields[i].Column(), one.Offsets)
		if errors.Is(err, window.ErrForm) {
			err = recipe.Wrong("window", "has %q, which is %w", one.Field, err)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, windowed{f, i, len(fields) + len(all)})
	}
	return all, nil
}

// find returns the field of a window, and whether it is the mask; nil: it is another one.
func (all windowFields) find(field int) (of *window.Field, pad bool) {
	for _, w := range all {
		if w.field == field || w.pad == field {
			return w.Field, w.pad == field
		}
	}
	return nil, false
}

// room is how many bytes a sample's windows and masks take.
func (all windowFields) room() (bytes int64) {
	for _, w := range all {
		bytes += w.Room()
	}
	return bytes
}

// types puts those of windows into the types of fields, and returns the names of their
// masks, whose types are appended.
func (all windowFields) types(types []sample.Type, names []string) ([]sample.Type, []string) {
	for _, w := range all {
		types[w.field] = w.Value
		types, names = append(types, w.Mask), append(names, names[w.field]+padded)
	}
	return types, names
}

// into notes that a column of a batch is filled with a window, or with its mask.
func into(all window.Columns, f *window.Field, pad bool, column int) window.Columns {
	i := slices.IndexFunc(all, func(c window.Column) bool { return c.Field == f })
	if i < 0 {
		i, all = len(all), append(all, window.Column{Field: f, Values: -1, Mask: -1})
	}
	if pad {
		all[i].Mask = column
	} else {
		all[i].Values = column
	}
	return all
}
