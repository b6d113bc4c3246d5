package input

import (
	"errors"
	"fmt"
	"strings"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[Object]("source", recipe.Source, "Read samples from a Python object, by number or by iterating."))

// Object are the arguments of the operation source.
type Object struct {
	Function string       `json:"function,omitempty" required:"true" example:"datasets:photographs"`
	Length   *int64       `json:"length,omitempty" min:"0" example:"4000"`
	Fields   []string     `json:"fields,omitzero" example:"[\"image\", \"label\"]"`
	Gives    recipe.Gives `json:"gives,omitzero"`
	Seed     []string     `json:"seed,omitzero" example:"[\"random\", \"numpy\"]"`
	Where    string       `json:"where,omitempty" choices:"process,thread,here" doc:"where it runs, as for map"`
	Keys     string       `json:"keys,omitempty" example:"datasets:names"`
}

// Docs implements [argument.Documented].
func (*Object) Docs() map[string]string {
	return map[string]string{
		"gives example": `{"image": {"dtype": "uint8", "shape": [224, 224, 3]}, "label": {"dtype": "int64"}}`,
		"function": "\"module:name\" of the object; each worker makes one of a class, without arguments. The " +
			"workers import it, unless your program passes it",
		"length": "number of samples: object[0], object[1] and so on; by default it is iterated, or called and " +
			"the result iterated, and the number is unknown",
		"fields": "field names, if a sample is a tuple or a single value; by default it is a dict, or a value " +
			"that is the sample itself",
		"gives": "the fields' types: \"text\", \"bytes\", \"object\" (any value, as a pickle), or an object with " +
			"dtype and shape, null for an extent that differs; by default the first sample decides. A sample that " +
			"does not fit is bad",
		"seed": "modules to seed before each sample: random, numpy, torch; by default none",
		"keys": "\"module:name\" of sample names for messages: a function of the number, or a list; by default " +
			"the number, or the text field key",
	}
}

// Complete implements [recipe.Completer].
func (o Object) Complete() recipe.Args {
	if len(o.Seed) == 0 {
		o.Seed = nil
	}
	return &o
}

// Identity leaves out what does not matter to which samples come: how many there are,
// states say themselves.
func (o Object) Identity(recipe.Recipe) recipe.Args {
	id := &Object{Function: o.Function, Fields: o.Fields, Seed: o.Seed}
	if o.Length != nil {
		id.Length = new(int64)
	}
	return id
}

// Python are the arguments of what workers call: the object itself.
func (o *Object) Python() recipe.Python {
	return recipe.Python{Function: o.Function, Fields: o.Fields, Where: o.Where, Seed: o.Seed}.Complete()
}

// Iterated tells whether samples come as the object gives them, in its own order, and not
// by their numbers.
func (o *Object) Iterated() bool { return o.Length == nil }

// Check implements [recipe.Args]. The schema is nil where Gives does not say what comes.
func (o *Object) Check(sample.Schema) (sample.Schema, error) {
	errs := []error{recipe.CheckFunction(o.Function), recipe.CheckWhere(o.Where), argument.CheckNames("fields", o.Fields),
		o.Gives.Check(o.Fields), recipe.CheckSeed(o.Seed)}
	if o.Where == recipe.Here && len(o.Seed) > 0 {
		errs = append(errs, recipe.Wrong("seed", `is given with where="here": it would seed the program's own generators`))
	}
	if o.Iterated() && strings.HasPrefix(o.Where, recipe.SetPrefix) {
		errs = append(errs, recipe.Wrong("where", "names workers that steps share: what is iterated over has one of its own"))
	}
	if o.Length != nil && (*o.Length < 0 || *o.Length > recipe.MostSamples) {
		errs = append(errs, recipe.Wrong("length", "is %d: must be from 0 to %d", *o.Length, int64(recipe.MostSamples)))
	}
	if o.Fields != nil && len(o.Fields) == 0 {
		errs = append(errs, recipe.Wrong("fields", "is empty: give names of fields, or null for dicts"))
	}

	if o.Keys != "" {
		errs = append(errs, recipe.CheckCallable("keys", o.Keys))
		if o.Iterated() {
			errs = append(errs, recipe.Wrong("keys", "is for samples that are read by their numbers: "+
				"what is iterated over gives a field key, which is text"))
		}
	}
	if len(o.Fields) == 1 && o.Fields[0] == recipe.Bare {
		errs = append(errs, recipe.Wrong("fields", recipe.OnlyBare, "is"))
	}
	for i, name := range o.Fields {
		if name == "" {
			errs = append(errs, recipe.Wrong(fmt.Sprintf("fields[%d]", i), "is empty: give the name of a field"))
		}
	}

	out := o.schema()
	if i := out.Find("key"); i >= 0 && !out[i].Type.Equal(sample.TextType) {
		errs = append(errs, recipe.Wrong("gives",
			`has "key" as %v: that is the name of a sample, which is text; return it under another name, such as "keys"`, out[i].Type))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return out, nil
}

// schema returns the schema of the samples: the object's fields, and a key if it is not
// among them.
func (o *Object) schema() sample.Schema {
	if o.Gives.Schema == nil {
		return nil
	}
	out := sample.Schema{}
	for _, f := range o.Gives.Schema {
		f.Type.Axes = recipe.SourceAxes(f)
		out = append(out, f)
	}
	if out.Find("key") < 0 && !recipe.IsBare(out) && !o.Gives.Tuple {
		out = append(out, sample.Field{Name: "key", Type: sample.TextType})
	}
	return out
}

// Traits implements [recipe.Traited].
func (o *Object) Traits() recipe.Traits {
	return recipe.Traits{Call: &recipe.Call{Kind: recipe.SourceCall, Python: o.Python(), To: o.Fields,
		Gives: &o.Gives, Length: o.Length, Keys: o.Keys}}
}

// WithGives implements [recipe.Giving].
func (o Object) WithGives(g recipe.Gives) recipe.Args {
	if o.Gives = g; g.Tuple {
		o.Fields = g.Schema.Names()
	}
	return &o
}
