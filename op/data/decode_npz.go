package data

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/npy"
	"github.com/headrace/headrace/internal/npz"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[DecodeNPZ]("decode_npz", recipe.Between,
	"Read the arrays of NumPy's archives (.npz), each file a sample: the fields are the arrays.").Explained(`
Numbers and bools are arrays, in C order and the machine's byte order; text without axes is text. Arrays of anything
else, such as complex numbers, dates, text or structures, are Python objects: NumPy arrays, lists of them in a batch. A
file that lacks an array, has others, or other dtypes or numbers of axes than the first file is a bad sample. Python
objects in a file are refused: nothing is unpickled. To read the rows of long arrays as samples, use 'read'.`,
	`scenes = hr.files("scenes/*.npz").shuffle().decode_npz()`,
	`pairs = hr.files("pairs/*.npz")`,
	`pairs = pairs.decode_npz({"image": "rgb", "label": "class"})`).Called("fields").
	Begins(recipe.Beginning{Of: "archive", Steps: func(io.Reader) string { return "  - decode_npz\n  - batch: {size: 64}\n" }}))

// DecodeNPZ are the arguments of the operation decode_npz.
type DecodeNPZ struct {
	Field  string           `json:"field,omitempty" default:"bytes" doc:"the field with the file, which is removed"`
	Fields input.FieldsFrom `json:"fields,omitzero" example:"{\"array\": \"rgb\"}"`
	Gives  recipe.Gives     `json:"gives,omitzero" example:"{\"array\": {\"dtype\": \"uint8\", \"shape\": [null, null, 3]}}"`
}

// Docs implements [argument.Documented].
func (*DecodeNPZ) Docs() map[string]string {
	return map[string]string{
		"fields": "the array that each field is, or [name, type], with a type as for gives of map; or a list of names. " +
			"By default all arrays, and a file with other arrays is a bad sample",
		"gives": "the fields' types, if known without reading a file; by default the first sample decides. Sizes may " +
			"differ between samples unless a later step needs one, such as batch",
	}
}

// Identity implements [recipe.Identifier]: types that the files tell are not part of it.
func (d DecodeNPZ) Identity(recipe.Recipe) recipe.Args {
	d.Gives = recipe.Gives{}
	return &d
}

// Traits implements [recipe.Traited].
func (*DecodeNPZ) Traits() recipe.Traits {
	return recipe.Traits{Content: "array", Suffixes: []string{".npz"}}
}

// WithGives implements [recipe.Giving].
func (d DecodeNPZ) WithGives(g recipe.Gives) recipe.Args {
	d.Gives = g
	return &d
}

// Learns implements [core.Learner].
func (d *DecodeNPZ) Learns() bool { return d.types() == nil }

// types returns the fields' types; nil: not all are known.
func (d *DecodeNPZ) types() sample.Schema {
	if d.Gives.Schema != nil {
		return d.Gives.Schema
	}
	var all sample.Schema
	for _, f := range d.Fields {
		if f.Type.Kind == 0 {
			return nil
		}
		all = append(all, sample.Field{Name: f.Name, Type: f.Type})
	}
	return all
}

// Check implements [recipe.Args]. The schema is nil before a first file is read.
func (d *DecodeNPZ) Check(in sample.Schema) (sample.Schema, error) {
	errs := []error{argument.CheckTags(d), d.Fields.Check(), d.Gives.Check(d.Fields.Names()),
		recipe.CheckDecoding(in, d.Field, d.Field, false)}
	types := d.types()
	names := types.Names()
	if types == nil {
		names = d.Fields.Names()
	}
	for _, name := range names {
		if name != d.Field && in.Find(name) >= 0 {
			errs = append(errs, recipe.Wrong("fields", "has %q, and the samples have a field of this name already: "+
				"give it another, as in fields={%q: %[1]q}", name, name+"_array"))
		}
	}
	for _, f := range types {
		if f.Type.Kind == sample.Bytes || f.Type.Kind != sample.Tensor && len(f.Type.Shape) > 0 {
			errs = append(errs, recipe.Wrong("gives", "has %q as %v: arrays are numbers, \"text\" or \"object\"", f.Name, f.Type))
		}
	}
	for _, f := range d.Fields {
		if f.Null != nil || f.IsNull {
			errs = append(errs, recipe.Wrong("fields", "has a value for null for %q, and arrays have no nulls", f.Name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if types == nil {
		return nil, nil
	}
	out := in.Without(d.Field)
	for _, f := range types {
		f.Type.Axes = recipe.SourceAxes(f)
		out = out.With(f.Name, f.Type)
	}
	return out, nil
}

// Learn implements [core.Learner].
func (d *DecodeNPZ) Learn(t *core.Scope) func(*record.Record) (sample.Schema, error) {
	at := t.Columns.Of[d.Field]
	return func(it *record.Record) (sample.Schema, error) { return d.typesOf(it.Values.Bytes[at.At]) }
}

// typesOf returns the types of the arrays of a file.
func (d *DecodeNPZ) typesOf(file []byte) (all sample.Schema, err error) {
	arrays, err := npz.Open(file)
	if err != nil {
		return nil, err
	}
	fields := d.Fields
	if fields == nil {
		for _, a := range arrays {
			if a.Other != "" {
				return nil, fmt.Errorf("headrace: it has %q, which is %s: %s", a.Name, a.Other, chosen(arrays))
			}
			fields = append(fields, input.FieldFrom{Name: a.Name, From: a.Name})
		}
	}
	if len(fields) == 0 {
		return nil, errors.New("headrace: it has no arrays")
	}
	for _, f := range fields {
		one := sample.Field{Name: f.Name, Type: f.Type}
		if f.Type.Kind == 0 {
			a, err := find(arrays, f.From)
			if err != nil {
				return nil, err
			}
			form, err := a.Form()
			if err != nil {
				return nil, fmt.Errorf("headrace: %w; %s", err, chosen(without(arrays, f.From)))
			}
			one.Type = typeOf(form)
		}
		all = append(all, one)
	}
	return all, nil
}

// typeOf returns the type of a field that has such arrays.
func typeOf(f npy.Form) sample.Type {
	switch {
	case f.DType.Valid():
		return sample.TensorType(f.DType, f.Shape...)
	case isText(f):
		return sample.TextType
	}
	return sample.ObjectType
}

func isText(f npy.Form) bool { return len(f.Shape) == 0 && len(f.Descr) > 1 && f.Descr[1] == 'U' }

// find returns an array by its name.
func find(arrays []npz.Array, name string) (*npz.Array, error) {
	i := slices.IndexFunc(arrays, func(a npz.Array) bool { return a.Name == name })
	if i >= 0 && arrays[i].Other == "" {
		return &arrays[i], nil
	}
	var names []string
	for _, a := range arrays {
		if a.Other == "" {
			names = append(names, a.Name)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("headrace: it has no array %q: it has no arrays", name)
	}
	return nil, fmt.Errorf("headrace: it has no array %q: it has %s", name, words.List(names))
}

func without(arrays []npz.Array, name string) []npz.Array {
	return slices.DeleteFunc(slices.Clone(arrays), func(a npz.Array) bool { return a.Name == name })
}

// chosen tells the user to name the arrays that can be read.
func chosen(arrays []npz.Array) string {
	var names []string
	for _, a := range arrays {
		if a.Other == "" && a.Name != "" {
			names = append(names, fmt.Sprintf("%q", a.Name))
		}
	}
	if len(names) == 0 {
		return "leave the file out"
	}
	return fmt.Sprintf("to read the others, name them: .decode_npz([%s])", strings.Join(names, ", "))
}
