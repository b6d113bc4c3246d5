package input

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/tensor"
)

// pictures are the parts of WebDataset that are images.
var pictures = []string{"jpg", "jpeg", "png", "webp"}

// UsualFields returns the fields of samples if none are named: all there are. Those of
// WebDataset are called as other operations have them. A column that cannot be read, or
// that not all samples have, is an error: nothing is left out without a word. The fields
// that can be read together come with it.
func UsualFields(set *shard.Dataset) (FieldsFrom, error) {
	return usualFields(set, func(string) (bool, error) { return true, nil })
}

// usualFields is UsualFields of some of the samples. Lacks tells whether one of these has
// no value of a field that some sample lacks.
func usualFields(set *shard.Dataset, lacks func(name string) (bool, error)) (all FieldsFrom, err error) {
	schema, err := set.Schema()
	if err != nil {
		return nil, err
	}
	webdataset := set.Format.Name() == "tar"
	images := int64(0)
	var found []string
	for _, f := range set.Index().Fields {
		if webdataset && slices.Contains(pictures, f.Name) {
			images += f.Samples
			found = append(found, f.Name)
		}
	}
	slices.SortFunc(found, func(a, b string) int { return slices.Index(pictures, a) - slices.Index(pictures, b) })
	together := len(found) > 0 && images == set.Len() // each sample has one of them
	if together {
		all = append(all, FieldFrom{Name: "bytes", From: strings.Join(found, ";")})
	}

	gaps, err := gapsOf(set)
	if err != nil {
		return nil, err
	}
	for name, g := range gaps {
		if !g.missing {
			continue
		}
		switch still, err := lacks(name); {
		case err != nil:
			return nil, err
		case !still:
			delete(gaps, name)
		}
	}
	for _, f := range schema {
		// A suffix that only some samples have is no gap if the others have another one.
		if together && slices.Contains(found, f.Name) {
			delete(gaps, f.Name)
			continue
		}
		name := f.Name
		switch {
		case webdataset && !together && len(found) > 0 && f.Name == found[0]:
			name = "bytes"
		case webdataset && f.Name == "cls":
			name = "label"
		}
		all = append(all, FieldFrom{Name: name, From: f.Name})
	}
	if set.Len() == 0 {
		return nil, fmt.Errorf("%w: there are no samples", shard.ErrNoField)
	}
	if len(all) == 0 && len(gaps) == 0 {
		shard, _ := set.Place(0)
		return nil, fmt.Errorf("%w: the samples of %s have no fields; leave the file out, "+
			"or read their names with fields={\"key\": \"__key__\"}", errNoFields, shard)
	}
	return complete(all, gaps, set.Index().Compare(), true)
}

var errNoFields = errors.New("nothing to read")

// gap is the reason not to read a field with all others.
type gap struct {
	why     string
	missing bool   // some samples lack it, and the others can be read
	typed   bool   // a table says that it is there
	whole   bool   // it has whole numbers
	empty   bool   // no sample has it
	fill    string // a value of its type, as Python writes it
}

// gapsOf are the fields that cannot be read, or that not all samples have.
func gapsOf(set *shard.Dataset) (map[string]gap, error) {
	x := set.Index()
	all := map[string]gap{}
	for name, why := range x.Refused {
		all[name] = gap{why: why}
	}

	for name, why := range x.Mixed {
		if slices.ContainsFunc(x.Numbers, func(f index.Field) bool { return f.Name == name }) && set.Convertible(name) {
			why += ": give the type it should be in fields"
		}
		all[name] = gap{why: why}
	}
	records, err := set.Gaps()
	if err != nil {
		return nil, err
	}
	schema, err := set.Schema()
	if err != nil {
		return nil, err
	}
	for name, g := range records {
		all[name] = gap{why: g.Why}
		if g.Why == "" {
			i, fill := schema.Find(name), ""
			if i >= 0 {
				fill = shard.Filling(schema[i].Type)
			}
			whole := i >= 0 && isWhole(&schema[i].Type) && schema[i].Type.DType != tensor.Bool
			all[name] = gap{missing: true, typed: true, whole: whole, empty: g.Has == 0, fill: fill,
				why: fmt.Sprintf("in %d of the first %s", g.Of-g.Has, words.Plural(g.Of, "record"))}
		}
	}
	for _, f := range slices.Concat(x.Fields, x.Numbers) {
		if _, ok := all[f.Name]; ok || f.Samples == set.Len() || f.Name == "" {
			continue
		}
		g := gap{missing: true, whole: isWhole(f.Type), empty: f.Samples == 0}
		if !g.whole && f.Type != nil && f.Type.Kind == sample.Tensor && len(f.Type.Shape) == 0 {
			continue // a float, of a shard without the column: it is NaN there
		}
		g.why = fmt.Sprintf("in %d of %d samples only", f.Samples, set.Len())
		if g.typed = f.Type != nil; g.typed {
			where, err := set.Without(f.Name)
			if err != nil {
				return nil, err
			}
			g.why = fmt.Sprintf("in %d of %d samples%s", set.Len()-f.Samples, set.Len(), where)
			g.fill = shard.Filling(*f.Type)
		}
		all[f.Name] = g
	}
	return all, nil
}

// isWhole tells whether values are single numbers that floats would hold.
func isWhole(t *sample.Type) bool {
	return t != nil && t.Kind == sample.Tensor && len(t.Shape) == 0 && !isFloat(t.DType)
}

func isFloat(d tensor.DType) bool {
	return d == tensor.Float16 || d == tensor.Float32 || d == tensor.Float64 || d == tensor.BFloat16
}

// complete returns the fields that all samples have. If that is not all there is, the
// error says why, and how the others are read; with bad samples among them, how all are.
func complete(fields FieldsFrom, gaps map[string]gap, order func(a, b string) int, losable bool) (rest FieldsFrom, err error) {
	if len(gaps) == 0 {
		return fields, nil
	}
	var errs []error
	for _, name := range slices.SortedStableFunc(slices.Values(slices.Sorted(maps.Keys(gaps))), order) {
		if len(errs) == mostGaps {
			errs = append(errs, fmt.Errorf("and %d more, which headrace inspect lists", len(gaps)-mostGaps))
			break
		}
		errs = append(errs, gaps[name].of(name))
	}
	rest = slices.DeleteFunc(slices.Clone(fields), func(f FieldFrom) bool { _, ok := gaps[f.From]; return ok })
	how := "no other column is left that can be read as it is"
	if len(rest) > 0 {
		how = "to read the others, name them: fields={" + Quoted(rest) + "}"
	}
	errs = append(errs, errors.New(how))
	most := slices.DeleteFunc(slices.Clone(fields),
		func(f FieldFrom) bool { g, ok := gaps[f.From]; return ok && (!g.missing || !g.typed || g.empty) })
	if losable && len(most) > len(rest) {
		errs = append(errs, errors.New("to leave out samples without a value, name all: fields={"+
			Quoted(most)+"}, and write .loader(on_error=\"skip\")"))
	}
	return rest, errors.Join(errs...)
}

// mostGaps is how many fields a message names.
const mostGaps = 8

// of is the error of a field.
func (g gap) of(name string) error {
	switch {
	case !g.missing:
		return fmt.Errorf("%w: %q: %s", shard.ErrUnsupported, name, g.why)
	case !g.typed:
		return fmt.Errorf("%w: %q is %s", shard.ErrNoField, name, g.why)
	case g.whole:
		return fmt.Errorf("%w: %q: %s; give a value for it, fields={%q: (%q, None, %s)}, or read it as float64, "+
			"where it is NaN and whole numbers beyond 2⁵³ are rounded, fields={%q: (%q, \"float64\")}",
			shard.ErrNoValue, name, g.why, name, name, g.fill, name, name)
	case g.fill != "":
		return fmt.Errorf("%w: %q: %s; give a value for it, as in fields={%q: (%q, None, %s)}",
			shard.ErrNoValue, name, g.why, name, name, g.fill)
	}
	return fmt.Errorf("%w: %q: %s", shard.ErrNoValue, name, g.why)
}

// Quoted is fields as they are written in Python.
func Quoted(fields FieldsFrom) string {
	var all []string
	for _, f := range fields {
		all = append(all, fmt.Sprintf("%q: %q", f.Name, f.From))
	}
	return strings.Join(all, ", ")
}
