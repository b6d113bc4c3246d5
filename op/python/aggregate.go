package python

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/headrace/headrace/budget"
	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.Op{
	Name: "aggregate",
	Doc:  "Pass the samples of an epoch, one by one, to an object that makes other samples of them.",
	New:  func() recipe.Args { return new(Aggregate) },

	More: `'accumulate(sample)' is called for each sample in turn, 'flush()' at the end of the epoch. Both return a sample, an
iterable of samples, or None, and may be generators or async. A parameter 'rng' works as in 'map'. Arrays are copies
that you may keep. One worker process holds the object, a new one for each epoch. With 'where="here"' a thread of your
program does, and gets objects that cannot be pickled from steps before it that have 'where="here"' too.

To resume within an epoch the object needs 'state_dict()', which returns JSON, arrays, tensors and bytes, at most 1
MiB, and 'load_state_dict(state)'. Without them such a state is refused when you load it.

If 'accumulate' raises, that sample fails and the object goes on. If 'flush' raises, all samples since the last output
fail. If the worker dies or times out, the run ends. The number of batches is not known in advance, and several ranks
need 'steps_per_epoch'.`,
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
})

// Aggregate are the arguments of the operation aggregate.
type Aggregate struct {
	Function string       `json:"function,omitempty" required:"true" example:"windows:Windows"`
	Fields   []string     `json:"fields,omitzero" example:"[\"image\"]"`
	Gives    recipe.Gives `json:"gives,omitzero" example:"{\"tokens\": {\"dtype\": \"int64\", \"shape\": [512]}}"`
	Where    string       `json:"where,omitempty" choices:"process,thread,here"`
	Seed     []string     `json:"seed,omitzero" example:"[\"random\", \"numpy\"]"`
}

// Docs implements [argument.Documented].
func (*Aggregate) Docs() map[string]string {
	return map[string]string{
		"function": "\"module:name\" of an object, or of a class made once for each epoch. accumulate(sample) and " +
			"flush() return samples, a sample, or None; with state_dict() and load_state_dict() a run can resume " +
			"within an epoch. The worker imports it, unless your program passes it",
		"fields": "fields passed to accumulate as arguments; by default the whole sample, as a dict",
		"gives": "the fields it returns: \"text\", \"bytes\", \"object\" (any value, as a pickle), or an object " +
			"with dtype and shape, null for an extent that differs; by default the first sample decides. A result " +
			"that does not fit fails the last sample passed",
		"where": "process: a worker process; thread: a thread of one; here: a thread of the Python program itself, " +
			"which may use the program's objects",
		"seed": "modules to seed before each call: random, numpy, torch; by default none. An argument named rng " +
			"needs none",
	}
}

// Python are the arguments as other functions have them: one process calls the object,
// and gives it what it may keep.
func (a *Aggregate) Python() recipe.Python {
	return recipe.Python{Function: a.Function, Fields: a.Fields, Workers: new(1), Where: a.Where, Seed: a.Seed, Copy: true}
}

// Complete implements [recipe.Completer].
func (a Aggregate) Complete() recipe.Args {
	if len(a.Seed) == 0 {
		a.Seed = nil
	}
	if a.Where == "process" {
		a.Where = ""
	}
	return &a
}

// Identity implements [recipe.Identifier].
func (a Aggregate) Identity(recipe.Recipe) recipe.Args {
	return &Aggregate{Function: a.Function, Fields: a.Fields, Seed: a.Seed}
}

// CheckFailures implements [recipe.Failing].
func (a *Aggregate) CheckFailures(f *recipe.Failures) error {
	return f.CheckOnce("the object has been given the sample already")
}

// Check implements [recipe.Args]. The schema is nil if Gives has no fields.
func (a *Aggregate) Check(in sample.Schema) (sample.Schema, error) {
	out, err := recipe.ResultOf(in, nil, nil, a.Gives)
	p := a.Python()
	if strings.HasPrefix(a.Where, recipe.SetPrefix) || strings.HasPrefix(a.Where, recipe.HerePrefix) {
		err = errors.Join(recipe.Wrong("where", "is %q: one worker has the object for an epoch, and cannot be shared", a.Where), err)
	}
	if err := errors.Join(append(p.CheckCall(in), err)...); err != nil {
		return nil, err
	}
	return out, nil
}

// Traits implements [recipe.Traited].
func (a *Aggregate) Traits() recipe.Traits {
	return recipe.Traits{Count: recipe.Gathers, Call: &recipe.Call{Kind: recipe.AggregateCall, Python: a.Python(), Gives: &a.Gives}}
}

// WithGives implements [recipe.Giving].
func (a Aggregate) WithGives(g recipe.Gives) recipe.Args {
	a.Gives = g
	return &a
}

// AggregateFunction is an object of Python that gathers samples, and makes others of
// them. One worker has it. Its samples are outputs of the sample that it was given last,
// whose place, key and source they have; their numbers begin again with each sample that
// it is given. So numbers do not depend on where a run was resumed: if an output is not
// finished, its sample is given again.
type AggregateFunction struct{ *Function }

// NewAggregateFunction makes such an object of a step, and returns the fields after it.
func NewAggregateFunction(w *core.Env, p fuse.Part, in sample.Schema, where *record.Columns) (*AggregateFunction, sample.Schema, error) {
	next := &AggregateFunction{}
	var out sample.Schema
	var err error
	if next.Function, out, err = NewFunction(w, *p.Step, in, where); err != nil {
		return nil, nil, err
	}
	next.Stage = p.Name()
	return next, out, nil
}

// Aggregator makes what an epoch's samples are given to.
func (g *AggregateFunction) Aggregator() pipe.Aggregator[*record.Record, *record.Record] {
	return &collector{AggregateFunction: g}
}

// InLane returns what makes the same for the samples of a lane, with an object that is
// its own. Objects of all lanes have one worker, which none may keep while it waits for
// its turn.
func (g *AggregateFunction) InLane(number int) func() pipe.Aggregator[*record.Record, *record.Record] {
	return func() pipe.Aggregator[*record.Record, *record.Record] {
		return &collector{AggregateFunction: g, object: number, whole: true}
	}
}

// collector is the object in one epoch. What it gives for a sample is made of all samples
// since it gave something last; what flush gives at the end, too, and where there are
// none, of those that it gave something for last. So it is finished with them, and they
// come again until it is.
type collector struct {
	*AggregateFunction
	object int  // of the worker's
	whole  bool // what it gives is taken from the worker before it is handed on
	from   pipe.Memory
	newest *record.Record // that it was given; nil: none
	made   int64          // how many samples it has made since
	held   []pipe.Held[*record.Record]
	given  *pipe.Outputs[*record.Record, *record.Record] // what it gave last, to which more may come; nil: nothing
	state  string                                        // of the object after that
	ending bool                                          // the epoch is over
}

// Resume implements pipe.Resumer.
func (c *collector) Resume(m pipe.Memory) error {
	c.from = m
	return nil
}

// Add implements pipe.Aggregator.
func (c *collector) Add(ctx context.Context, v pipe.Held[*record.Record], e *pipe.Emitter[*record.Record, *record.Record]) error {
	c.end()
	it := v.Value
	call := c.Call(it)
	defer c.Done(call)
	call.Object = c.object
	if call.Begin = c.newest == nil; call.Begin && c.from.State != "" {
		call.State = []byte(c.from.State)
	}
	c.newest, c.made, c.held = it, 0, append(c.held, v)
	err := c.stream(ctx, call, e)
	c.Env.Drop(it) // the worker has copies of what it keeps
	switch {
	case err == nil:
	case c.given != nil:
		c.given.Lose(core.Blame(it, err))
	default:
		e.Lose(v, core.Blame(it, err))
	}
	return nil
}

// Flush implements pipe.Aggregator.
func (c *collector) Flush(ctx context.Context, e *pipe.Emitter[*record.Record, *record.Record]) error {
	if c.newest == nil {
		return nil // nothing has come
	}
	if len(c.held) > 0 {
		c.end()
	}
	key := c.Env.RandomKey(c.newest)
	c.ending = true
	call := &extern.Call{ID: c.newest.ID, Key: c.newest.Key,
		Random: [2]uint64{key.Uint64(c.DrawID, 2), key.Uint64(c.DrawID, 3)}, Flush: true, Object: c.object}
	err := c.stream(ctx, call, e)
	if err == nil {
		c.end()
		return nil
	}
	err = core.Blame(c.newest, err)
	if c.given == nil {
		return err
	}
	c.given.Fail(err)
	c.given = nil
	return nil
}

// stream hands on what the object gives. It may give something of all that it was given,
// so there has to be room before each call.
func (c *collector) stream(ctx context.Context, call *extern.Call, e *pipe.Emitter[*record.Record, *record.Record]) (err error) {
	room, err := c.ahead(ctx, c.Pool, c.newest)
	if err != nil {
		return err
	}
	defer room.Release()

	var misfit error
	var taken []*record.Record
	err = c.Pool.Stream(ctx, call, func(out []extern.Value) error {
		child, err := c.child(ctx, out)
		switch {
		case err == nil && misfit == nil && c.whole:
			taken = append(taken, child)
		case err == nil && misfit == nil:
			c.give(e, child)
		case err == nil:
			c.Env.Drop(child)
		case misfit == nil:
			misfit = err // the object goes on, and so must not see when this was found
		}
		return ctx.Err()
	})

	for _, child := range taken {
		c.give(e, child)
	}
	if len(call.State) > 0 {
		c.state = string(call.State)
	}

	// The object goes on after an exception in a call. If it is gone, a new one would
	// begin empty, and what was gathered would be missing unnoticed: that ends the run.
	var failed *extern.CallError
	var start *extern.StartError
	var lost *extern.LostError
	switch {
	case err == nil:
		return misfit
	case errors.As(err, &failed) && !failed.Ends:
		return err
	case failed == nil && !errors.As(err, &start) && !errors.As(err, &lost):
		err = fmt.Errorf("%w; what its object had gathered is lost, and so the run ends", err)
	}
	return pipe.Stop(err)
}

// give hands on a sample that the object has made.
func (c *collector) give(e *pipe.Emitter[*record.Record, *record.Record], child *record.Record) {
	if len(c.held) > 0 {
		c.end()
		c.given, c.held = e.Open(c.held...), nil
	}
	c.given.Emit(child)
}

// end closes the last output: no more comes to it.
func (c *collector) end() {
	if c.given != nil {
		c.given.Close(c.state)
		c.given = nil
	}
}

// child makes a sample of an output of the object.
func (c *collector) child(ctx context.Context, out []extern.Value) (_ *record.Record, err error) {
	it := c.newest
	child := &record.Record{Source: it.Source, ID: it.ID, Key: it.Key, Pass: it.Pass, Turn: it.Turn, Standing: it.Standing}
	child.SetOutput(it.Made, c.made)
	c.made++
	if err := c.fill(child, out, nil); err != nil {
		return nil, err
	}
	if c.whole {
		err = c.Env.Charge(ctx, child)
	} else {
		err = c.Env.Admit(ctx, child)
	}
	if c.ending && err == nil {
		// Samples of other branches are ahead, and younger. They may need bytes in
		// later stages, which the oldest sample that has some is given first. To stand
		// last would not do: those of other inputs of a merge have bytes, and wait.
		child.Working.Release()
		child.Working = budget.Grant{}
	}
	return child, err
}
