package recipe

import (
	"errors"

	"github.com/headrace/headrace/sample"
)

var aggregateOp = Op{
	Name: "aggregate",
	Doc:  "Pass the samples of an epoch, one by one, to an object that makes other samples of them.",
	New:  func() Args { return new(Aggregate) },

	More: `'accumulate(sample)' is called for each sample in turn, 'flush()' at the end of the epoch. Both return a sample, an iterable of samples, or
None, and may be generators or async. A parameter 'rng' works as in 'map'. Arrays are copies that you may keep. One worker process holds the
object, a new one for each epoch.

To resume within an epoch the object needs 'state_dict()', which returns JSON, arrays, tensors and bytes, at most 1 MiB, and
'load_state_dict(state)'. Without them such a state is refused when you load it.

If 'accumulate' raises, that sample fails and the object goes on. If 'flush' raises, all samples since the last output fail. If the worker dies
or times out, the run ends. The number of batches is not known in advance, and several ranks need 'steps_per_epoch'.`,
	Example: []string{`class Sums:
    def __init__(self):
        self.rows = []

    def accumulate(self, sample):
        self.rows.append(sample["x"])
        if len(self.rows) == 8:
            rows, self.rows = self.rows, []
            return {"sum": np.sum(rows, axis=0)}

    def flush(self):
        return {"sum": np.sum(self.rows, axis=0)} if self.rows else None

    def state_dict(self):
        return {"rows": self.rows}

    def load_state_dict(self, state):
        self.rows = state["rows"]

.aggregate(Sums)`},
	Call: "function, *, fields",

	Gathers: true,
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

// Complete implements [Completer].
func (a Aggregate) Complete() Args {
	if len(a.Seed) == 0 {
		a.Seed = nil
	}
	return &a
}

// Identity implements [Identifier].
func (a Aggregate) Identity(Recipe) Args {
	return &Aggregate{Function: a.Function, Fields: a.Fields, Seed: a.Seed}
}

// CheckFailures implements [Failing].
func (a *Aggregate) CheckFailures(f *Failures) error {
	return f.CheckOnce("the object has been given the sample already")
}

// Check implements [Args]. The schema is nil where Gives does not say what comes out.
func (a *Aggregate) Check(in sample.Schema) (sample.Schema, error) {
	out, err := ResultOf(in, nil, nil, a.Gives)
	p := a.Python()
	if err := errors.Join(append(p.CheckCall(in), err)...); err != nil {
		return nil, err
	}
	return out, nil
}

// Traits implements [Traited].
func (a *Aggregate) Traits() Traits {
	return Traits{Count: Gathers, Call: &Call{Kind: AggregateCall, Python: a.Python(), Gives: &a.Gives}}
}

// WithGives implements [Giving].
func (a Aggregate) WithGives(g Gives) Args {
	a.Gives = g
	return &a
}
