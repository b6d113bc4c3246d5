package headrace

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"headrace/extern"
	"headrace/internal/record"
	"headrace/order"
	"headrace/recipe"
	"headrace/sample"
	"headrace/stats"
)

// host has the workers of a loader's functions of Python, and the memory that they share with the engine.
type host struct {
	heap    *extern.Heap
	python  *extern.Interpreter
	log     func(extern.Line)
	workers int  // of a step that does not say how many
	probes  bool // nothing runs but for a first sample: each has one worker
	idle    bool // nothing runs at all
	calls   []*python

	mu     sync.Mutex
	pools  []*extern.Pool // guarded by mu
	closed bool           // guarded by mu
}

// newHost makes one without workers.
func newHost(o Options, workers int, probes bool) (*host, error) {
	memory, err := extern.NewHeap()
	if err != nil {
		return nil, fmt.Errorf("headrace: %w", err)
	}
	h := &host{heap: memory, python: o.Python, log: o.Log, workers: workers, probes: probes, idle: o.Look}
	if probes {
		h.workers = 1
	}
	if h.python == nil {
		h.python = extern.Default()
	}
	return h, nil
}

// open starts the workers of a step's function.
func (h *host) open(name string, p *recipe.Python, o extern.Options, f *recipe.Failures) (*extern.Pool, int, error) {
	workers := h.workers
	if p.Workers != nil && !h.probes {
		workers = *p.Workers
	}
	o.Stage, o.Function, o.Interpreter, o.Heap, o.Workers, o.Threads = name, p.Function, h.python, h.heap, workers, p.Where == "thread"
	o.Positional, o.Seed, o.Copy, o.Log = p.Fields != nil, p.Seed, p.Copy, h.log
	o.Limit, o.Idle = failing{}.of(f, 0).limit, h.idle
	pool, err := extern.Open(o)
	if err != nil {
		return nil, 0, fmt.Errorf("headrace: %s: %w", name, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pools = append(h.pools, pool)
	return pool, workers, nil
}

// another opens a pool of the same function, with one worker.
func (h *host) another(like *extern.Pool) (*extern.Pool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, extern.ErrClosed
	}
	pool, err := like.Another()
	if err == nil {
		h.pools = append(h.pools, pool)
	}
	return pool, err
}

// all are the pools so far.
func (h *host) all() []*extern.Pool {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.pools)
}

// stats are what the workers have done.
func (h *host) stats() (all []stats.Function) {
	if h == nil {
		return nil
	}
	for _, p := range h.calls {
		s := p.pool.Stats()
		all = append(all, stats.Function{
			Stage: p.name, Calls: s.Calls, Packs: s.Packs, BytesIn: s.BytesIn, BytesOut: s.BytesOut, Restarts: s.Restarts, PIDs: append([]int{}, s.PIDs...),
		})
	}
	return all
}

// refuses is an error where the function of a stage cannot have so many workers.
func (h *host) refuses(stage string, workers int) error {
	if h == nil || workers == 1 {
		return nil
	}
	for _, p := range h.calls {
		if p.stage == stage && len(p.shared) > 0 {
			return fmt.Errorf("%s: threads share the generators of %s, which cannot be seeded for each sample then: use processes, or the function's own rng", stage, strings.Join(p.shared, ", "))
		}
	}
	return nil
}

// await has what is measured begin when workers have started.
func (h *host) await() {
	for _, p := range h.all() {
		p.Await()
	}
}

// close ends the workers. The heap stays until an abandoned operation has let go of it, too.
func (h *host) close() error {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	var errs []error
	for _, p := range h.all() {
		errs = append(errs, p.Close())
	}
	return errors.Join(append(errs, h.heap.Close())...)
}

// python makes a part of a step that is a function of Python.
func (c *compiler) python(s recipe.Step) (*python, error) {
	t := &c.trail
	p := &python{work: c.work, name: s.Name}
	var o extern.Options
	var call *recipe.Python
	out := t.schema
	switch args := s.Args.(type) {
	case *recipe.Filter:
		o.Kind, call, p.filters = extern.Filter, &args.Python, true
		c.drops = true
	case *recipe.Map:
		o.Kind, call, o.To, o.Gives = extern.Map, &args.Python, args.To, args.Gives.Schema
		out, _ = args.Check(t.schema) // the recipe was checked
	case *recipe.FlatMap:
		o.Kind, call, o.To, o.Gives = extern.FlatMap, &args.Python, args.To, args.Gives.Schema
		out, _ = args.Check(t.schema)
	case *recipe.Aggregate:
		called := args.Python()
		o.Kind, call, o.Gives, o.States = extern.Aggregate, &called, args.Gives.Schema, true
		out, _ = args.Check(t.schema)
	}
	o.In = call.Takes(t.schema)
	p.begin(o.In, &t.places)
	p.gives(o.Gives, out, (call.Fields == nil || o.Kind == extern.Aggregate) && !p.filters, t)
	c.relabels = c.relabels || call.Fields != nil && o.Gives.Find("label") >= 0
	t.schema = out
	p.hands = handsFor(o.In, o.Gives)
	if call.Where == "thread" {
		p.shared = call.Seed
	}
	var err error
	if p.pool, p.workers, err = c.work.host.open(s.Name, call, o, s.Failures); err != nil {
		return nil, err
	}
	c.work.host.calls = append(c.work.host.calls, p)
	return p, nil
}

// begin finds the places of what a function takes.
func (p *python) begin(in sample.Schema, where *record.Columns) {
	p.op = order.OpID(p.name)
	for _, f := range in {
		p.in = append(p.in, slot{f.Name, f.Type, where.Of[f.Name]})
	}
}

// gives finds places for what a function gives. Where that is whole samples, fields that it does not give are gone.
func (p *python) gives(all, out sample.Schema, whole bool, t *trail) {
	if whole {
		for _, f := range t.schema {
			if all.Find(f.Name) < 0 {
				p.taken = append(p.taken, t.places.Take(f.Name))
			}
		}
	}
	for _, f := range all {
		typ := out[out.Find(f.Name)].Type
		before, had := t.places.Of[f.Name]
		at := t.places.PutAny(f.Name, typ)
		if had && at != before {
			p.taken = append(p.taken, before)
		}
		p.out = append(p.out, slot{f.Name, typ, at})
	}
}

// Samples in hand for each worker: as many as one takes at a time, and as many again that wait for it meanwhile.
const (
	mostHands  = 128
	usualHands = 16      // where it is not known how large samples are
	handsBytes = 1 << 20 // that those of one worker come to
)

// handsFor is how many samples a worker has in hand that takes and gives values of these types.
func handsFor(in, out sample.Schema) int {
	bytes := int64(0)
	for _, f := range append(in[:len(in):len(in)], out...) {
		switch {
		case f.Type.Kind == sample.Text, f.Type.Kind == sample.Object:
			bytes += 100
		case f.Type.Axes != "" && !f.Type.Fixed():
			return 4
		case !f.Type.Fixed():
			return usualHands
		default:
			n, _ := f.Type.Shape.Bytes(f.Type.DType)
			bytes += n
		}
	}
	return int(min(max(handsBytes/max(1, bytes), 4), mostHands))
}
