package recipe

import (
	"errors"

	"headrace/sample"
)

var aggregateOp = Op{
	Name: "aggregate",
	Doc:  "Gives the samples of an epoch to an object of Python, one after the other, which makes other samples of them.",
	New:  func() Args { return new(Aggregate) },

	gathers: true,
}

// Aggregate are the arguments of the operation aggregate.
type Aggregate struct {
	Function string   `json:"function,omitempty" required:"true" example:"windows:Windows" doc:"the object, as \"module:name\", or a class, of which one is made for each epoch: it has accumulate(sample) and flush(), which return samples, a sample, or None; and state_dict() and load_state_dict(), where a run is to go on in the middle of an epoch. The worker imports it, unless the program that opens the recipe brings it along"`
	Fields   []string `json:"fields,omitzero" example:"[\"image\"]" doc:"the fields whose values accumulate is given, one after the other; by default the whole sample, as a dict"`
	Gives    Gives    `json:"gives,omitzero" example:"{\"tokens\": {\"dtype\": \"int64\", \"shape\": [512]}}" doc:"the types of the samples that it makes: \"text\", \"bytes\", \"object\" (any value, as a pickle), or an object with dtype and shape, in which null is an extent that differs; by default the first sample tells. A result that does not fit is the failure of the sample that was given last"`
	Seed     []string `json:"seed,omitzero" example:"[\"random\", \"numpy\"]" doc:"modules whose global random numbers are seeded before each call: random, numpy, torch; by default none. An argument that is called rng needs none of them"`
}

// Python are the arguments as other functions have them: one process calls the object,
// and gives it what it may keep.
func (a *Aggregate) Python() Python {
	return Python{Function: a.Function, Fields: a.Fields, Workers: new(1), Seed: a.Seed, Copy: true}
}

func (a Aggregate) complete() Args {
	if len(a.Seed) == 0 {
		a.Seed = nil
	}
	return &a
}

func (a Aggregate) identity(Recipe) Args {
	return &Aggregate{Function: a.Function, Fields: a.Fields, Seed: a.Seed}
}

// imports implements [importer].
func (a *Aggregate) imports() []string { return []string{a.Function} }

// checkFailures implements [failing].
func (a *Aggregate) checkFailures(f *Failures) error {
	return f.checkOnce("the object has been given the sample already")
}

// Check implements [Args]. The schema is nil where Gives does not say what comes out.
func (a *Aggregate) Check(in sample.Schema) (sample.Schema, error) {
	out, err := result(in, nil, nil, a.Gives)
	p := a.Python()
	if err := errors.Join(append(p.check(in), err)...); err != nil {
		return nil, err
	}
	return out, nil
}
