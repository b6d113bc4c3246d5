package recipe

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/sample"
)

// Python are the arguments that all operations have which call a function of Python. A
// worker process of the engine calls it.
type Python struct {
	Function string   `json:"function,omitempty" required:"true" example:"transforms:augment"`
	Fields   []string `json:"fields,omitzero" example:"[\"image\"]"`
	Workers  *int     `json:"workers,omitempty" min:"1" max:"256"`
	Where    string   `json:"where,omitempty" choices:"process,thread,here"`
	Seed     []string `json:"seed,omitzero" example:"[\"random\", \"numpy\"]"`
	Copy     bool     `json:"copy" doc:"pass arrays as copies that may be kept; otherwise they are valid until the function returns"`
}

// Docs implements [argument.Documented].
func (*Python) Docs() map[string]string {
	return map[string]string{
		"function": "\"module:name\" of a function, a callable object, or a class that each worker makes one " +
			"object of. The workers import it, unless your program passes it",
		"fields":  "fields passed as arguments; by default the whole sample, as a dict",
		"workers": "number of processes or threads; by default one per core, and one with where here",
		"where": "process: one call at a time in each worker process; thread: threads of one process, for code " +
			"that releases the GIL; here: threads of the Python program itself, for functions that need its " +
			"objects",
		"seed": "modules to seed before each call: random, numpy, torch; by default none. An argument named rng " +
			"needs none",
	}
}

// Complete returns the arguments with their defaults.
func (p Python) Complete() Python {
	p.Where = cmp.Or(p.Where, "process")
	if InProgram(p.Where) && p.Workers == nil {
		p.Workers = new(1) // what a program has, such as a connection, is seldom for several threads
	}
	if len(p.Seed) == 0 {
		p.Seed = nil
	}
	return p
}

// Identity is the part that matters to which samples come out. Of the function that is
// its name: nobody can tell whether its code is the same.
func (p Python) Identity() Python {
	return Python{Function: p.Function, Fields: p.Fields, Seed: p.Seed}
}

// Takes is what the function is given of samples of this schema.
func (p *Python) Takes(in sample.Schema) sample.Schema {
	if p.Fields == nil {
		return in
	}
	var all sample.Schema
	for _, name := range p.Fields {
		all = append(all, in[in.Find(name)])
	}
	return all
}

// SetPrefix is what the name of a set of workers begins with, which the program that
// opens the recipe describes.
const SetPrefix = "set:"

// Here is where a function is called by threads of the program that opens the recipe.
// What follows HerePrefix is the executor that they submit its calls to, by which only
// functions of one executor are called one after the other.
const (
	Here       = "here"
	HerePrefix = Here + ":"
)

// InProgram tells whether a function is called by threads of the program.
func InProgram(where string) bool { return where == Here || strings.HasPrefix(where, HerePrefix) }

const mostPythonWorkers = 256

// CheckCall returns the mistakes in the arguments of a step that reads samples of this
// schema.
func (p *Python) CheckCall(in sample.Schema) (errs []error) {
	errs = append(errs, CheckFunction(p.Function), CheckWhere(p.Where))
	if p.Fields != nil && len(p.Fields) == 0 {
		errs = append(errs, Wrong("fields", "is empty: give names of fields, or null for the whole sample"))
	}
	errs = append(errs, argument.CheckNames("fields", p.Fields))
	for i, name := range p.Fields {
		if in.Find(name) < 0 {
			errs = append(errs, Wrong(fmt.Sprintf("fields[%d]", i), "is an %w", words.Unknown("field", name, in.Names())))
		}
	}
	if p.Workers != nil && (*p.Workers < 1 || *p.Workers > mostPythonWorkers) {
		errs = append(errs, Wrong("workers", "is %d: must be from 1 to %d", *p.Workers, mostPythonWorkers))
	}
	if InProgram(p.Where) && len(p.Seed) > 0 {
		errs = append(errs, Wrong("seed", `is given with where="here": it would seed the program's own generators; use an argument rng`))
	}
	return append(errs, CheckSeed(p.Seed))
}

// CheckSeed returns an error unless the names are modules that can be seeded.
func CheckSeed(names []string) error {
	var errs []error
	for i, name := range names {
		errs = append(errs, argument.OneOf(fmt.Sprintf("seed[%d]", i), name, []string{"random", "numpy", "torch"}))
	}
	return errors.Join(append(errs, argument.CheckNames("seed", names))...)
}

// CheckFunction returns an error unless the argument function names one.
func CheckFunction(name string) error {
	if name == "" {
		return argument.Given("function", false)
	}
	return CheckCallable("function", name)
}

// CheckCallable returns an error unless an argument is of the form "module:name".
func CheckCallable(arg, name string) error {
	module, function, ok := strings.Cut(name, ":")
	if !ok || module == "" || function == "" || strings.ContainsAny(name, "\x00\n") {
		return Wrong(arg, `is %q: must be "module:name", such as "transforms:augment"`, name)
	}
	return nil
}

// CheckWhere returns an error unless functions can be called there.
func CheckWhere(where string) error {
	if where == "main" {
		return Wrong("where", `is "main": that is for the last steps, after batch, which the Python package carries out by itself`)
	}
	if strings.HasPrefix(where, SetPrefix) || InProgram(where) {
		return nil
	}
	return argument.OneOf("where", cmp.Or(where, "process"), []string{"process", "thread", Here})
}

// ResultOf returns the schema of what a function gives of samples of this one, where it
// says so: the values of some fields, or whole samples.
func ResultOf(in sample.Schema, fields []string, to []string, g Gives) (sample.Schema, error) {
	names := to
	if names == nil {
		names = fields
	}
	said := to
	if g.Tuple { // they are numbers
		said = nil
	}
	if err := errors.Join(checkTo(fields, said), g.Check(names)); err != nil || g.Schema == nil {
		return nil, err
	}
	out := sample.Schema{}
	if fields != nil {
		out = in
	}
	for _, f := range g.Schema {
		out = out.With(f.Name, likeBefore(in, f))
	}
	return out, nil
}

func checkTo(fields, to []string) error {
	switch {
	case to == nil:
		return nil
	case fields == nil:
		return Wrong("to", "is given without fields: a function that is given whole samples names its results itself")
	case len(to) == 0:
		return Wrong("to", "is empty: give names of fields, or null for those of fields")
	}
	for i, name := range to {
		if name == "" {
			return Wrong(fmt.Sprintf("to[%d]", i), "is empty: give the name of a field")
		}
	}
	return argument.CheckNames("to", to)
}

// likeBefore is the type of a field that a function gives. What was an image or a clip
// and could be one is that again, so that operations on images may follow.
func likeBefore(in sample.Schema, f sample.Field) sample.Type {
	i := in.Find(f.Name)
	if i < 0 {
		return f.Type
	}
	axes, picture := in[i].Type.Axes, f.Type
	if axes == "HW" && couldBeMask(picture) {
		f.Type.Axes = axes
	}
	if !strings.HasSuffix(axes, "HWC") || len(picture.Shape) != len(axes) || slices.Contains(picture.Shape, 0) {
		return f.Type
	}
	if picture.Shape = picture.Shape[len(axes)-len("HWC"):]; CouldBeImage(picture) {
		f.Type.Axes = axes
	}
	return f.Type
}
