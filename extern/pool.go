package extern

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/extern/internal/chain"
	"github.com/headrace/headrace/extern/internal/message"
	"github.com/headrace/headrace/extern/internal/pack"
	"github.com/headrace/headrace/sample"
)

// Pool is a function that workers call.
type Pool struct {
	given    Options // to Open
	o        Options // with all that they leave open
	function function
	workers  *Workers
	own      bool       // the workers are its own
	turn     sync.Mutex // of Gather

	calls atomic.Int64 // that have come back
	time  atomic.Int64 // ns that they took
}

// Open starts the processes of a pool, and does not wait for them.
func Open(o Options) (*Pool, error) {
	given := o
	if o.Interpreter == nil {
		o.Interpreter = Default()
	}

	if o.Heap == nil {
		return nil, errors.New("extern: a pool needs a heap")
	}
	if err := o.In.Check(); err != nil {
		return nil, fmt.Errorf("extern: what %s is given: %w", o.Stage, err)
	}
	if err := o.Gives.Check(); err != nil {
		return nil, fmt.Errorf("extern: what %s gives: %w", o.Stage, err)
	}

	switch o.Kind {
	case Map, Filter, FlatMap, Index, Collate, Chain:
	// Their object has a state, and that of a second worker would be another one.
	case Aggregate, Iterate, Choose:
		o.Workers = 1
	default:
		return nil, fmt.Errorf("extern: %q is not a kind of function", o.Kind)
	}

	if o.Threads && o.Workers > 1 && len(o.Seed) > 0 {
		return nil, fmt.Errorf("extern: %s: threads share the generators of %s, which cannot "+
			"be seeded for each sample then: use processes, or the function's own rng", o.Stage, strings.Join(o.Seed, ", "))
	}

	if o.Kind == Filter {
		o.Gives = sample.Schema{}
	}
	if o.Gives != nil && o.Kind == Iterate && o.States {
		o.Gives = append(o.Gives[:len(o.Gives):len(o.Gives)], sample.Field{Name: stateField, Type: sample.TextType})
	}
	if o.Gives != nil && o.Keys != "" {
		o.Gives = append(o.Gives[:len(o.Gives):len(o.Gives)], sample.Field{Name: keyField, Type: sample.TextType})
	}

	o.Workers = max(1, o.Workers)
	p := &Pool{given: given, o: o, workers: o.On, function: function{
		Function: pack.Function{Stage: o.Stage, Kind: o.Kind, In: o.In, Gives: o.Gives, Copies: o.Copy || o.Threads,
			Limit: o.Limit, Heap: o.Heap},
		setup: setupOf(o), interpreter: o.Interpreter, user: o.User, log: o.Log,
	}}
	if own := o.Interpreter.Own(); own != nil {
		p.function.LetGo = own.LetGo
	}
	p.function.Init()
	p.function.Chain = chain.New(o.Chain, p.pickled)
	p.function.pickle, p.function.keys, p.function.initializer = p.pickled(o.Function), p.pickled(o.Keys),
		p.pickled(o.Interpreter.Initializer)
	p.function.imports = p.modules()
	if p.workers == nil {
		p.workers, p.own = NewWorkers(o.Interpreter, o.Heap, o.Threads, o.Log), true
	}
	p.function.Spaces = &p.workers.spaces
	p.workers.add(&p.function, o.Workers, o.Beside)
	if p.own && !o.Idle {
		p.workers.Start()
	}
	return p, nil
}

// setupOf returns the message that tells a worker of the options.
func setupOf(o Options) message.Setup {
	return message.Setup{
		Stage: o.Stage, Function: o.Function, Keys: o.Keys, Kind: string(o.Kind), Heap: int64(len(o.Heap.Memory)),
		In:   message.FieldsOf(o.In),
		Rows: o.Rows, Positional: o.Positional, To: o.To, Gives: message.FieldsOf(o.Gives), Seed: o.Seed, Copy: o.Copy || o.Threads,
		States: o.States, Tape: o.Tape, Tried: o.Tried, Rank: o.Rank, World: o.World, InlineMost: pack.RoomLeast,
		Initializer: o.Interpreter.Initializer, Exact: o.Exact, Limit: o.Limit.Seconds(),
	}
}

// pickled copies the pickle of a function into the heap. It returns nil if the function
// is imported instead.
func (p *Pool) pickled(function string) []byte {
	pickle, ok := p.o.Interpreter.Functions[function]
	if !ok {
		return nil
	}
	own := p.function.Heap.Take(len(pickle))
	copy(own, pickle)
	return own
}

// modules returns the modules that a process imports before it calls any user code. An
// initializer may change which modules the functions find, so only its own are listed if
// there is one.
func (p *Pool) modules() (modules []string) {
	names := []string{p.o.Function, p.o.Keys}
	for _, f := range p.o.Chain {
		names = append(names, f.Function)
	}
	if first := p.o.Interpreter.Initializer; first != "" {
		names = []string{first}
	}
	if p.function.HasArrays() && p.o.Interpreter.Initializer == "" {
		modules = append(modules, "numpy") // once for all workers
	}
	for _, name := range names {
		modules = append(modules, p.o.Interpreter.ImportsOf(name)...)
	}
	return modules
}

// Given reports whether the number of workers was given: for the function, or for a set
// of workers that it shares.
func (p *Pool) Given() bool { return p.o.Exact || p.o.User != nil }

// Call applies the function to a sample and waits for the result. If ctx ends before a
// worker has taken the call, Call returns at once; afterwards it gives the function a
// moment to finish and then ends its process. Once Call returns, the call's memory is no
// longer in use.
func (p *Pool) Call(ctx context.Context, c *Call) error {
	return p.do(ctx, c, nil)
}

// Stream has the function applied, and calls yield with each sample that comes of it,
// until there are no more or yield returns an error, which Stream returns then. The
// values that yield is given are its own, but not the slice. The worker is ahead of yield
// by a few samples at most: see Ahead.
func (p *Pool) Stream(ctx context.Context, c *Call, yield func([]Value) error) error {
	return p.do(ctx, c, yield)
}

func (p *Pool) do(ctx context.Context, c *Call, yield func([]Value) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := p.check(c); err != nil {
		return err
	}

	j := p.function.job(ctx, c)
	j.Of.Yield = yield
	j.Alone = j.Of.Alone()
	q := &p.workers.queue
	if !p.o.Idle {
		p.workers.Start()
	}
	q.Put(j)

	select {
	case <-j.Done():
	case <-ctx.Done():
		if q.Withdraw(j) {
			// Nobody has seen it, or will.
			forget(j)
			return ctx.Err()
		}
		if own := p.o.Interpreter.Own(); own != nil {
			select { // nobody can stop it, and the next run needs its thread
			case <-j.Done():
				return j.Err
			case <-own.Leaves():
			}
		}
		timer := time.AfterFunc(patience, func() { q.Kill(j) })
		<-j.Done()
		timer.Stop()
		return j.Err // the timer may still look at j
	}

	err := j.Err
	forget(j)
	if err == nil {
		p.calls.Add(1)
		p.time.Add(int64(c.Took))
	}
	return err
}

// Beside reports whether the calls of an async function run concurrently in one worker,
// instead of one at a time in several.
func (p *Pool) Beside() bool {
	return p.workers.queue.Beside(&p.function.backlog)
}

// check refuses values that do not match the pool's options.
func (p *Pool) check(c *Call) error {
	if c.Flush {
		return nil
	}
	if c.Run != nil {
		return p.checkRun(c)
	}
	if p.o.Kind == Collate && c.Rows < 1 {
		return fmt.Errorf("extern: %s got %d samples: must be at least one", p.o.Stage, c.Rows)
	}

	if p.o.Kind == Chain && len(c.Keys) != len(p.function.Chain) {
		return fmt.Errorf("extern: %s has %d functions and is given keys for %d", p.o.Stage, len(p.function.Chain), len(c.Keys))
	}
	if want := len(p.o.In) * p.rows(c); len(c.In) != want {
		return fmt.Errorf("extern: %s needs %d values, got %d", p.o.Stage, want, len(c.In))
	}
	for i := range c.In {
		v, f := &c.In[i], &p.o.In[i%len(p.o.In)]
		fit := v.Kind == f.Type.Kind
		if fit && v.Kind == sample.Tensor {
			n, err := v.Shape.Bytes(v.DType)
			fit = err == nil && v.DType == f.Type.DType && message.Fits(v.Shape, f.Type.Shape) && n == int64(len(v.Data))
		}
		if !fit {
			is := sample.Type{Kind: v.Kind, DType: v.DType, Shape: v.Shape}
			return fmt.Errorf("extern: %s is given %q as %v of %d bytes: it must be %v", p.o.Stage, f.Name, is, len(v.Data), f.Type)
		}
	}
	return nil
}

func (p *Pool) rows(c *Call) int {
	if p.o.Kind == Collate {
		return c.Rows
	}
	return 1
}
