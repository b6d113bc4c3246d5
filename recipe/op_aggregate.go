package recipe

import (
	"errors"

	"headrace/sample"
)

var aggregateOp = Op{
	Name: "aggregate",
	Doc:  "Passes the samples of an epoch, one by one, to a Python object that makes other samples of them.",
	New:  func() Args { return new(Aggregate) },

	gathers: true,
}

// Aggregate are the arguments of the operation aggregate.
type Aggregate struct {
	Function string   `json:"function,omitempty" required:"true" example:"windows:Windows" doc:"\"module:name\" of an object, or of a class made once for each epoch. accumulate(sample) and flush() return samples, a sample, or None; with state_dict() and load_state_dict() a run can resume within an epoch. The worker imports it, unless your program passes it"`
	Fields   []string `json:"fields,omitzero" example:"[\"image\"]" doc:"fields passed to accumulate as arguments; by default the whole sample, as a dict"`
	Gives    Gives    `json:"gives,omitzero" example:"{\"tokens\": {\"dtype\": \"int64\", \"shape\": [512]}}" doc:"the fields it returns: \"text\", \"bytes\", \"object\" (any value, as a pickle), or an object with dtype and shape, null for an extent that differs; by default the first sample decides. A result that does not fit fails the last sample passed"`
	Seed     []string `json:"seed,omitzero" example:"[\"random\", \"numpy\"]" doc:"modules to seed before each call: random, numpy, torch; by default none. An argument named rng needs none"`
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

// Traits implements [traited].
func (a *Aggregate) Traits() Traits {
	return Traits{Count: Gathers, Call: &Call{Kind: AggregateCall, Python: a.Python(), Gives: &a.Gives}}
}

// WithGives implements [Giving].
func (a Aggregate) WithGives(g Gives) Args {
	a.Gives = g
	return &a
}
