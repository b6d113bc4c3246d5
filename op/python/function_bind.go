package python

import (
	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

// NewFunction makes a part of a step that is a function of Python, and returns the fields
// after it.
func NewFunction(w *core.Env, s recipe.Step, in sample.Schema, where *record.Columns) (*Function, sample.Schema, error) {
	call := recipe.TraitsOf(s.Args).Call
	p := &Function{Env: w, Name: s.Name, Filters: call.Kind == recipe.FilterCall}
	o := OptionsOf(call, in)
	o.Rows = where.Rows
	out, _ := s.Args.Check(in) // the recipe was checked
	p.Begin(o.In, where)
	p.gives(o.Gives, in, out, where)

	p.Relabels = call.Fields != nil && o.Gives.Find("label") >= 0
	return p, out, p.open(&call.Python, o, s.Failures)
}

// OptionsOf are those of workers that call the function of a step, which takes samples of
// this schema.
func OptionsOf(call *recipe.Call, in sample.Schema) extern.Options {
	o := extern.Options{Kind: kinds[call.Kind], In: call.Takes(in), To: call.To, States: call.Kind == recipe.AggregateCall}
	if call.Gives != nil {
		o.Gives = call.Gives.Schema
	}
	return o
}

var kinds = map[recipe.CallKind]extern.Kind{
	recipe.MapCall: extern.Map, recipe.FilterCall: extern.Filter, recipe.FlatMapCall: extern.FlatMap,
	recipe.AggregateCall: extern.Aggregate,
}

// open has workers for the function.
func (p *Function) open(call *recipe.Python, o extern.Options, f *recipe.Failures) (err error) {
	p.PerWorker = InHand(call.Where, o.In, o.Gives)
	if call.Where == "thread" {
		p.Shared = call.Seed
	}
	if p.Pool, p.Workers, err = HostOf(p.Env).Open(p.Name, call, o, f); err == nil {
		HostOf(p.Env).Calls = append(HostOf(p.Env).Calls, p)
		if p.Pool.Beside() { // a worker is one call in flight
			p.PerWorker = min(p.PerWorker, callsInHand)
		}
	}
	return err
}

// callsInHand are the samples in hand for each call of an async function: its own, and
// one that waits for it.
const callsInHand = 2

// InHand returns the number of samples in hand for each worker of functions that are
// called there. Threads of the program have no sample waiting for them: one thread's
// calls begin in the order of samples, also those of a function that waits for what the
// loop does with the result before.
func InHand(where string, in, gives sample.Schema) int {
	if recipe.InProgram(where) {
		return 1
	}
	return extern.InHand(in, gives)
}

// Begin finds the places of the fields that a function takes.
func (p *Function) Begin(in sample.Schema, where *record.Columns) {
	p.DrawID = order.OpID(p.Name)
	for _, f := range in {
		p.In = append(p.In, Field{f.Name, f.Type, where.Of[f.Name]})
	}
}

// Gives notes the results of a call.
func (p *Function) Gives(all sample.Schema) { p.results = append(sample.Schema{}, all...) }

// gives finds places for what a function gives. Fields that are not after it are gone.
func (p *Function) gives(all, in, out sample.Schema, where *record.Columns) {
	p.Gives(all)
	for _, f := range in {
		if out.Find(f.Name) < 0 {
			p.taken = append(p.taken, where.Take(f.Name))
		}
	}
	for _, f := range all {
		typ := out[out.Find(f.Name)].Type
		before, had := where.Of[f.Name]
		at := where.PutAny(f.Name, typ)
		if had && at != before {
			p.taken = append(p.taken, before)
		}
		p.Out = append(p.Out, Field{f.Name, typ, at})
	}
}
