package pipe_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// A chain is a random flow: a source, or a merge of chains, and constructs after it.
type chain struct {
	source construct // what becomes of its positions
	items  int
	done   map[int]bool // positions that were finished before a resume
	inputs []chain      // of the merge that it begins with, if there are any
	merge  construct
	steps  []construct
}

// A construct is one stage, or a few that make numbers of numbers again.
type construct struct {
	kind     string
	name     string
	salt     int
	rarity   int  // of so many numbers one is dropped, and two fail
	quick    bool // almost no operation takes time: items travel in runs
	pace     int  // how long operations take, otherwise
	workers  int
	buffer   int
	ordered  bool
	gated    bool
	n        int
	dropLast bool
	joined   bool   // a batch becomes one number, instead of several again
	runs     bool   // of a fill
	room     int    // batches that the store of a fill has; 0: any number
	around   string // an operation around the operation
	leaves   bool   // what panics elsewhere ends its goroutine here
	turns    string // of a merge
	short    bool
	branches [][]construct // of a route

	rule pipe.Policy // for what fails: the run's, or its own
	own  bool
}

// anything is a policy that tolerates every failure.
var anything = pipe.Policy{Skip: true, Count: -1}

// A draft draws a definition. Whether all stages so far yield the same items in the same
// order is known as it goes on.
type draft struct {
	*rapid.T
	count int
	exact bool
	more  []string // orders of merges that the model does not know
	sure  bool     // what is made into several numbers again is put together in the same way each time
	loose bool     // an epoch may end before all is finished that was begun

	changing bool // numbers of workers change

	// All stages make one item of one or more, keep the order, and may have policies: the
	// model knows states, too, and how a run ends.
	sequential bool
	quick      bool

	// The run may end early: nobody knows all that comes, but nothing may leak.
	mortal  bool
	leaving bool // operations may end their goroutines, which no policy tolerates

	// Nothing fails, and whatever puts items together is taken apart again.
	calm    bool
	ordered bool // in order, always

	failures pipe.Policy // of the run
}

func newDraft(rt *rapid.T) *draft { return &draft{T: rt, exact: true, failures: anything} }

func (d *draft) number(what string, lo, hi int) int {
	return rapid.IntRange(lo, hi).Draw(d.T, fmt.Sprint(what, d.count))
}

func (d *draft) chance(what string, percent int) bool { return d.number(what, 0, 99) < percent }

func (d *draft) name(what string) string {
	d.count++
	return fmt.Sprint(what, d.count)
}

func (d *draft) chain(depth int) (c chain) {
	if depth > 0 && !d.sequential && !d.ordered && d.chance("merge", 25) {
		for range d.number("inputs", 1, 3) {
			c.inputs = append(c.inputs, d.chain(depth-1))
		}
		c.merge = d.construct("merge")
		c.merge.turns = rapid.SampledFrom(append([]string{"arrival", "round robin", "own"}, d.more...)).Draw(d.T, "turns")
		c.merge.short = (d.mortal || c.merge.turns != "arrival" && d.exact) && !d.calm && d.chance("shortest", 30)
		d.loose = d.loose || c.merge.short
		d.exact = d.exact && (c.merge.turns != "arrival" || len(c.inputs) == 1)
	} else {
		c.source, c.items = d.construct("source"), d.number("items", 0, 14)
		c.source.around = ""
		if d.sequential {
			c.items = d.number("more items", 0, 40)
		}
		if d.quick {
			c.items *= 8
		}
	}
	c.steps = d.steps(depth, false)
	return c
}

// steps draws constructs; strict ones make one item of each, in order.
func (d *draft) steps(depth int, strict bool) (all []construct) {
	kinds := []string{"map", "with", "filter", "flat", "batch", "nested", "divide", "aggregate", "buckets", "fill", "groups", "route", "map"}
	switch {
	case d.sequential:
		kinds, strict = []string{"map", "with", "filter", "batch", "fill", "fill"}, true
	case strict:
		kinds = []string{"map", "with", "filter", "route"}
	case d.calm:
		kinds = []string{"map", "map", "filter", "flat", "batch", "batch", "divide", "aggregate", "fill", "nested", "opened", "route"}
	}
	for range d.number("steps", 0, 3) {
		kind := rapid.SampledFrom(kinds).Draw(d.T, "kind")
		if kind == "divide" && !d.exact && !d.calm || kind == "route" && depth == 0 {
			kind = "map"
		}
		if d.sure && !d.exact && slices.Contains([]string{"batch", "nested", "divide", "aggregate", "buckets", "fill", "groups"}, kind) {
			kind = "map"
		}
		s := d.construct(kind)
		s.ordered = s.ordered || d.sure && kind == "fill"
		if filled := kind == "fill" || kind == "groups"; filled && d.changing {
			s.around = "" // more operations may be abandoned than there are workers then
		}
		s.gated = s.gated && s.around != "limit" // what is abandoned has its permit for longer
		s.runs = s.runs && kind == "fill" && s.around != "limit" && !s.gated
		if s.ordered = s.ordered || strict; !s.ordered && (s.workers > 1 || d.changing || s.kind == "fill" && (s.around == "limit" || s.room > 0)) && slices.Contains([]string{"map", "with", "filter", "flat", "fill"}, kind) {
			d.exact = false
		}
		s.joined = d.sequential && (kind == "batch" || kind == "fill")
		if kind != "fill" || s.around == "limit" {
			s.room = 0
		}
		if kind == "route" {
			s.around = ""
		}
		s.leaves = s.leaves && s.around == "" && !s.runs && slices.Contains([]string{"map", "with", "fill", "groups"}, kind)
		s.dropLast = s.dropLast && d.exact && !d.calm && slices.Contains([]string{"batch", "buckets", "fill"}, kind)
		d.loose = d.loose || s.dropLast
		if kind == "route" {
			for range d.number("branches", 1, 3) {
				s.branches = append(s.branches, d.steps(depth-1, s.ordered))
			}
			d.exact = d.exact && (s.ordered || len(s.branches) == 1)
		}
		all = append(all, s)
	}
	return all
}

func (d *draft) construct(kind string) construct {
	c := construct{
		kind: kind, name: d.name(kind), salt: d.number("salt", 0, 1<<20), workers: d.number("workers", 1, 3), buffer: d.number("buffer", 1, 3),
		ordered: d.chance("ordered", 70), n: d.number("n", 1, 4), dropLast: d.chance("drop last", 30),
		around: rapid.SampledFrom([]string{"", "", "retry", "replace", "limit"}).Draw(d.T, "around"),
		rarity: rapid.SampledFrom([]int{12, 12, 4, 40, 1000}).Draw(d.T, "rarity"),
		gated:  d.chance("gated", 30), runs: d.chance("runs", 30), room: d.number("room", 0, 5), quick: d.quick, rule: d.failures,
		leaves: d.leaving,
	}
	if c.ordered = c.ordered || d.ordered; d.calm {
		c.rarity, c.around, c.room = 0, "", 0
	}
	if d.sequential && kind != "source" && kind != "batch" && d.chance("own policy", 25) {
		c.rule, c.own = d.policy(), true
	}
	return c
}

func (d *draft) policy() pipe.Policy {
	switch d.number("policy", 0, 4) {
	case 0:
		return pipe.Policy{}
	case 1:
		return pipe.Policy{Skip: true, Count: d.number("count", 1, 6)}
	case 2:
		return pipe.Policy{Skip: true, Rate: 0.2, After: d.number("after", 0, 12)}
	case 3:
		return pipe.Policy{Skip: true, Count: 2, Rate: 0.3}
	}
	return anything
}

// fate is what happens to a number at a stage: it depends on nothing else.
func (c construct) fate(v int) int {
	h := uint64(v)*0x9e3779b97f4a7c15 + uint64(c.salt)*0xbf58476d1ce4e5b9
	h ^= h >> 29
	h *= 0x94d049bb133111eb
	return int(h >> 40)
}

// A flaw is what is wrong with a number at a stage.
type flaw int

const (
	unneeded  flaw = iota // it is dropped
	faulty                // its operation fails
	explosive             // its operation panics
	fine
)

func (c construct) flaw(v int) flaw {
	if c.rarity == 0 {
		return fine
	}
	return flaw(min(c.fate(v)%c.rarity, int(fine)))
}

func (c construct) fails(v int) bool { return c.flaw(v) == faulty || c.flaw(v) == explosive }

// becomes is the model of an operation: what a number becomes, and whether it is lost or
// dropped.
func (c construct) becomes(v int) (out int, err error) {
	switch {
	case c.flaw(v) == unneeded:
		return 0, pipe.Skip
	case !c.fails(v) || c.around == "retry":
		return v, nil
	case c.around == "replace":
		return v + 1<<40, nil
	}
	return 0, errFault
}

func (c construct) picks(v, of int) int { return c.fate(v) / 16 % of }

func (c construct) pickTurn(of int) func(int, int64) int {
	return func(epoch int, turn int64) int {
		if c.short && turn > 10 {
			return -1
		}
		return c.fate(int(turn)+1000*epoch) % of
	}
}

// children is the model of a FlatMap.
func (c construct) children(v int) (all []int, err error) {
	for k := range c.fate(v) / 16 % 4 {
		all = append(all, 4*v+k)
	}
	switch c.flaw(v) {
	case unneeded:
		return all, pipe.Skip
	case faulty:
		return all, errFault
	}
	return all, nil
}

// joined is the model of a batch that becomes a number.
func joined(list []int) (v int) {
	for _, one := range list {
		v = (v*31 + one) % (1 << 38)
	}
	return v
}

// every runs a definition for real, and notes whatever is against the rules.
type every struct {
	pipetest.Owner[int]
	batches pipetest.Owner[*rows]
	tried   sync.Map
	traced  bool
	cancels bool // a run that is cut

	changeable []string // stages whose number of workers changes all the time
	seed       uint64

	gate *pipe.Gate // that some stages share

	mu      sync.Mutex
	faults  []string
	gauges  map[string]*pipetest.Gauge // operations of each stage
	most    map[string]int             // workers that each stage has had
	permits map[int]bool
}

var errFault = errors.New("a fault")

func newEvery(permits int) *every {
	return &every{gate: pipe.NewGate(permits), gauges: make(map[string]*pipetest.Gauge), most: make(map[string]int), permits: make(map[int]bool)}
}

func (e *every) fault(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.faults = append(e.faults, fmt.Sprintf(format, args...))
}

// Faults are what was against the rules until all runs have ended.
func (e *every) Faults() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := slices.Concat(e.faults, e.Owner.Faults(), e.batches.Faults())
	for name, g := range e.gauges {
		if n := g.Now(); n > 0 {
			all = append(all, fmt.Sprintf("%d operations of %s run after Close", n, name))
		}
	}
	return all
}

// enter notes that an operation runs, and checks what has to hold then. An operation that
// is abandoned is one more than there are workers.
func (e *every) enter(ctx context.Context, c construct) (leave func()) {
	if c.around == "limit" || c.runs {
		return func() {}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.gauges[c.name] == nil {
		e.gauges[c.name] = new(pipetest.Gauge)
	}
	leaveStage := e.gauges[c.name].Enter()
	if n, most := e.gauges[c.name].Now(), max(e.most[c.name], c.workers); n > most {
		e.faults = append(e.faults, fmt.Sprintf("%d operations of %s at once, and %d workers", n, c.name, most))
	}
	permit := pipe.Permit(ctx)
	if !c.gated {
		if permit != -1 {
			e.faults = append(e.faults, fmt.Sprintf("permit %d without a gate", permit))
		}
		return leaveStage
	}
	if permit < 0 || permit >= e.gate.Limit() || e.permits[permit] {
		e.faults = append(e.faults, fmt.Sprintf("permit %d of %d, held already: %v", permit, e.gate.Limit(), e.permits[permit]))
	}
	e.permits[permit] = true
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.permits[permit] = false
		leaveStage()
	}
}

// allow notes that a stage may have so many workers.
func (e *every) allow(stage string, workers int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.most[stage] = max(e.most[stage], workers)
}

func (e *every) list(list []int) {
	for _, v := range list {
		e.Gone(v)
	}
}

func (e *every) flow(c chain) pipe.Flow[int] {
	if c.inputs == nil {
		f := pipe.From(c.source.name, pipetest.Numbers{
			N: c.items, Value: func(epoch int, pos int64) int { return e.Made(c.number(epoch, int(pos))) },
			Fail: func(epoch int, pos int64) error {
				if c.source.fails(c.number(epoch, int(pos))) {
					return errFault
				}
				return nil
			},
		})
		return e.steps(pipe.Discard(f, e.Gone), c.steps)
	}
	var flows []pipe.Flow[int]
	for _, in := range c.inputs {
		flows = append(flows, e.flow(in))
	}
	o := pipe.MergeOpts{Name: c.merge.name, Buffer: c.merge.buffer}
	switch c.merge.turns {
	case "round robin":
		o.Order = pipe.RoundRobin
	case "weights":
		o.Order, o.Weights, o.Seed = pipe.ByWeight, []float64{1, 0.3, 2}[:len(flows)], uint64(c.merge.salt)
	case "own":
		o.Order, o.Pick = pipe.ByPick, c.merge.pickTurn(len(flows))
	}
	if c.merge.short {
		o.Until = pipe.Shortest
	}
	return e.steps(pipe.Discard(pipe.Merge(flows, o), e.Gone), c.steps)
}

// number is what a source yields at a position.
func (c chain) number(epoch, pos int) int {
	name := c.source.name
	return (int(name[len(name)-1])+16*len(name))<<16 | epoch<<10 | pos
}

func (e *every) steps(f pipe.Flow[int], steps []construct) pipe.Flow[int] {
	for _, s := range steps {
		f = pipe.Discard(e.step(f, s), e.Gone)
	}
	return f
}

func (e *every) step(f pipe.Flow[int], c construct) pipe.Flow[int] {
	o := pipe.Opts{Name: c.name, Workers: c.workers, Buffer: c.buffer, Ordered: c.ordered}
	if c.gated {
		o.Gate = e.gate
	}
	if c.own {
		o.Failures = &c.rule
	}
	unbatch := func(f pipe.Flow[[]int]) pipe.Flow[int] {
		if c.joined {
			join := func(_ context.Context, list []int) (int, error) {
				e.list(list)
				return e.Made(joined(list)), nil
			}
			return pipe.Map(pipe.Discard(f, e.list), join, pipe.Opts{Name: c.name + " joined", Buffer: c.buffer, Ordered: true})
		}
		if c.rarity == 0 && c.salt%2 == 0 {
			return pipe.FlatMap(pipe.Discard(f, e.list), e.slowly(c), pipe.Opts{Name: c.name + " apart", Workers: c.workers, Ordered: c.ordered})
		}
		return pipe.Unbatch(pipe.Discard(f, e.list), pipe.UnbatchOpts{Name: c.name + " unbatch", Buffer: c.buffer})
	}
	switch c.kind {
	case "with":
		begin := func(context.Context) (func(context.Context, int) (int, error), func(), error) {
			return e.operation(c), nil, nil
		}
		return pipe.MapWith(f, begin, o)
	case "filter":
		return pipe.Filter(f, func(ctx context.Context, v int) (bool, error) {
			defer e.enter(ctx, c)()
			err := c.pause(ctx, v)
			if err == nil {
				_, err = c.becomes(v)
			}
			return err == nil, cmpSkip(err)
		}, o)
	case "flat":
		return pipe.FlatMap(f, e.yields(c), o)
	case "batch":
		return unbatch(pipe.Batch(f, c.n, pipe.BatchOpts{Name: c.name, Buffer: c.buffer, DropLast: c.dropLast}))
	case "nested":
		inner := pipe.Discard(pipe.Batch(f, c.n, pipe.BatchOpts{Name: c.name + " inner"}), e.list)
		return unbatch(pipe.Unbatch(pipe.Batch(inner, 2, pipe.BatchOpts{Name: c.name}), pipe.UnbatchOpts{Name: c.name + " outer"}))
	case "opened":
		return pipe.Aggregate(f, func() pipe.Aggregator[int, int] { return &opener{pairs{n: c.n}} }, pipe.AggregateOpts{Name: c.name})
	case "divide":
		return unbatch(e.divide(pipe.Batch(f, c.n, pipe.BatchOpts{Name: c.name + " batch"}), c))
	case "aggregate":
		begin := func() pipe.Aggregator[int, []int] { return &pairs{n: c.n} }
		return unbatch(pipe.Aggregate(f, begin, pipe.AggregateOpts{Name: c.name, Buffer: c.buffer}))
	case "buckets":
		begin := func() pipe.Aggregator[int, []int] { return &sorter{construct: c, e: e} }
		return unbatch(pipe.Aggregate(f, begin, pipe.AggregateOpts{Name: c.name, Buffer: c.buffer, DropLast: c.dropLast}))
	case "fill":
		return unbatch(e.fill(f, c))
	case "groups":
		begin := func() pipe.Aggregator[int, placed] { return &placer{sorter{construct: c, e: e}} }
		items := pipe.Discard(pipe.Aggregate(f, begin, pipe.AggregateOpts{Name: c.name + " buckets"}), func(p placed) { e.Gone(p.v) })
		op := e.write(c)
		write := func(ctx context.Context, p placed, b *rows, row int) error { return op(ctx, p.v, b, row) }
		fill := pipe.FillGroups(items, c.n, func(p placed) bool { return p.last }, newRowStore(e, c), write, e.fillOpts(c))
		return unbatch(pipe.Map(fill, rowsOf, pipe.Opts{Name: c.name + " rows"}))
	case "route":
		var branches []func(pipe.Flow[int]) pipe.Flow[int]
		for _, steps := range c.branches {
			branches = append(branches, func(f pipe.Flow[int]) pipe.Flow[int] { return e.steps(f, steps) })
		}
		pick := func(_ context.Context, v int) (int, error) {
			_, err := c.made(v)
			return c.picks(v, len(branches)), err
		}
		return pipe.Route(f, pick, branches, pipe.RouteOpts{Name: c.name, Buffer: c.buffer, Ordered: c.ordered})
	}
	return pipe.Map(f, e.operation(c), o)
}

// cmpSkip is what a filter's function returns in place of Skip.
func cmpSkip(err error) error {
	if errors.Is(err, pipe.Skip) {
		return nil
	}
	return err
}

// slowly takes a batch apart.
func (e *every) slowly(c construct) func(context.Context, []int) iter.Seq2[int, error] {
	return func(ctx context.Context, list []int) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			defer func() { e.list(list) }() // what is left
			for len(list) > 0 {
				v := list[0]
				if err := c.pause(ctx, v); err != nil {
					yield(0, err)
					return
				}
				if list = list[1:]; !yield(v, nil) {
					return
				}
			}
		}
	}
}

// pause takes as long as the number's fate says: often nothing.
func (c construct) pause(ctx context.Context, v int) error {
	c.salt += c.pace
	if d := time.Duration(c.fate(v)/64%8) - 4; d > 0 && (!c.quick || c.fate(v)/512%100 == 0) {
		return pipetest.Sleep(ctx, d*time.Millisecond)
	}
	return ctx.Err()
}

// operation does to a number what becomes says.
func (e *every) operation(c construct) func(context.Context, int) (int, error) {
	type try struct {
		c string
		v int
	}
	op := func(ctx context.Context, v int) (int, error) {
		defer e.enter(ctx, c)() // not around Retry, which waits without a permit
		if err := c.pause(ctx, v); err != nil {
			return 0, err
		}
		bad := c.fails(v)
		switch c.around {
		case "retry":
			if _, again := e.tried.LoadAndDelete(try{c.name, v}); bad && !again {
				e.tried.Store(try{c.name, v}, true)
				return 0, errFault
			}
		case "limit":
			if bad {
				<-ctx.Done()
				return 0, errors.Join(ctx.Err(), errFault)
			}
		}
		if bad && c.around != "retry" {
			if c.flaw(v) == explosive {
				if c.leaves {
					runtime.Goexit()
				}
				panic(errFault)
			}
			return 0, errFault
		}
		return c.becomes(v)
	}
	switch c.around {
	case "retry":
		op = pipe.Retry(op, pipe.Backoff{Times: 3, First: time.Millisecond})
	case "replace":
		op = pipe.Replace(op, func(_ context.Context, v int, _ error) (int, error) { return c.becomes(v) })
	case "limit":
		op = pipe.Limit(op, time.Second, nil)
	}
	return func(ctx context.Context, v int) (int, error) {
		defer e.Gone(v)
		out, err := op(ctx, v)
		if err == nil {
			e.Made(out)
		}
		return out, err
	}
}

func (e *every) yields(c construct) func(context.Context, int) iter.Seq2[int, error] {
	return func(ctx context.Context, v int) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			defer e.Gone(v)
			all, err := c.children(v)
			for _, child := range all {
				leave := e.enter(ctx, c)
				late := c.pause(ctx, child)
				leave() // where it is blocked, it has no permit
				if late != nil {
					yield(0, late)
					return
				}
				if !yield(e.Made(child), nil) {
					return
				}
			}
			if err != nil {
				yield(0, err)
			}
		}
	}
}

// divide sends odd fates one way and even ones another.
func (e *every) divide(f pipe.Flow[[]int], c construct) pipe.Flow[[]int] {
	branch := func(k int) func(pipe.Flow[[]int]) pipe.Flow[[]int] {
		return func(f pipe.Flow[[]int]) pipe.Flow[[]int] {
			return pipe.Discard(pipe.Map(f, func(ctx context.Context, list []int) ([]int, error) {
				err := c.pause(ctx, list[0])
				if err == nil {
					_, err = c.part(k, list)
				}
				if err != nil {
					e.list(list)
				}
				return list, err
			}, pipe.Opts{Name: fmt.Sprint(c.name, " branch ", k), Workers: c.workers, Ordered: true}), e.list)
		}
	}
	pick := func(_ context.Context, v int) (int, error) {
		if c.fails(v) {
			return 0, errFault
		}
		return c.picks(v, 2), nil
	}
	return pipe.RouteBatch(f, pick, batchBranches{branch(0), branch(1)}, pipe.RouteBatchOpts{Name: c.name, Buffer: c.buffer})
}

// part is the model of a branch of divide.
func (c construct) part(k int, list []int) ([]int, error) {
	if c.rarity == 0 {
		return list, nil
	}
	switch c.fate(list[0]+k) % 9 {
	case 0:
		return nil, errFault
	case 1:
		return nil, pipe.Skip
	}
	return list, nil
}

// pairs is an aggregator that puts n together.
type pairs struct {
	n    int
	held []pipe.Held[int]
}

func (p *pairs) Add(ctx context.Context, v pipe.Held[int], e *pipe.Emitter[int, []int]) error {
	if p.held = append(p.held, v); len(p.held) == p.n {
		return p.Flush(ctx, e)
	}
	return nil
}

func (p *pairs) Flush(_ context.Context, e *pipe.Emitter[int, []int]) error {
	var list []int
	for _, h := range p.held {
		list = append(list, h.Value)
	}
	if of := p.held; len(of) > 0 {
		p.held = nil
		e.Emit(list, of...)
	}
	return nil
}

// A sorter is an aggregator that holds numbers in buckets by their fate, and drops or
// refuses some.
type sorter struct {
	construct
	e    *every
	held [3][]pipe.Held[int]
}

// bucket is the model of where a number belongs.
func (c construct) bucket(v int) (k int, err error) {
	if c.kind == "buckets" {
		switch c.flaw(v) {
		case unneeded:
			return 0, pipe.Skip
		case faulty:
			return 0, errFault
		}
	}
	return c.fate(v) / 16 % 3, nil
}

// add takes a number, and returns a bucket that is full.
func (s *sorter) add(v pipe.Held[int]) (full []pipe.Held[int], err error) {
	k, err := s.bucket(v.Value)
	if err != nil {
		return nil, err
	}
	if s.held[k] = append(s.held[k], v); len(s.held[k]) == s.n {
		full, s.held[k] = s.held[k], nil
	}
	return full, nil
}

func (s *sorter) Add(_ context.Context, v pipe.Held[int], e *pipe.Emitter[int, []int]) error {
	if s.flaw(v.Value) == unneeded {
		e.Drop(v)
		return nil
	}
	full, err := s.add(v)
	if full != nil {
		e.Emit(valuesOf(full), full...)
	}
	return err
}

func (s *sorter) Flush(_ context.Context, e *pipe.Emitter[int, []int]) error {
	for _, held := range s.held {
		if held != nil {
			e.Emit(valuesOf(held), held...)
		}
	}
	return nil
}

// A placer is a sorter that hands on the numbers of a bucket one by one.
type placer struct{ sorter }

type placed struct {
	v    int
	last bool // of its batch
}

func (p *placer) Add(_ context.Context, v pipe.Held[int], e *pipe.Emitter[int, placed]) error {
	full, err := p.add(v)
	p.emit(full, e)
	return err
}

func (p *placer) Flush(_ context.Context, e *pipe.Emitter[int, placed]) error {
	for _, held := range p.held {
		p.emit(held, e)
	}
	return nil
}

func (p *placer) emit(all []pipe.Held[int], e *pipe.Emitter[int, placed]) {
	for i, h := range all {
		e.Emit(placed{h.Value, i == len(all)-1}, h)
	}
}

// rows is the batch of a fill.
type rows struct {
	store *rowStore
	all   []int
	ended bool // sealed or dropped
	size  int  // when it is sealed
}

const (
	noRow   = -1
	lateRow = -2 // is written by an operation after it was abandoned
)

// set writes a row.
func (b *rows) set(row, v int) {
	b.store.using.Lock()
	defer b.store.using.Unlock()
	if b.ended {
		b.store.e.fault("%d is written into a batch that has left", v)
	}
	b.all[row] = v
}

// rowsOf takes a batch out of a fill's way.
func rowsOf(_ context.Context, b *rows) ([]int, error) {
	if slices.Contains(b.all[:b.size], noRow) {
		b.store.e.fault("a batch has a hole: %v", b.all[:b.size])
	}
	b.store.gone(b)
	return b.all[:b.size], nil
}

func (e *every) fillOpts(c construct) pipe.FillOpts {
	o := pipe.FillOpts{Name: c.name, Workers: c.workers, Buffer: c.buffer, Ordered: c.ordered, DropLast: c.dropLast}
	if c.around == "limit" {
		o.Limit = time.Second
	}
	if c.gated {
		o.Gate = e.gate
	}
	if c.own {
		o.Failures = &c.rule
	}
	return o
}

// A rowStore may have a bounded pool, and checks that its methods are called as promised.
type rowStore struct {
	e         *every
	n         int
	most      int           // batches; 0: any number
	room      chan struct{} // full when all are out
	reserving sync.Mutex
	moving    sync.Mutex
	using     sync.Mutex // rows
}

func newRowStore(e *every, c construct) *rowStore {
	return &rowStore{e: e, n: c.n, most: c.room}
}

func (s *rowStore) Reserve(ctx context.Context) (*rows, error) {
	defer s.alone(&s.reserving)()
	if s.most > 0 {
		if s.room == nil {
			s.room = make(chan struct{}, s.most) // in the bubble of the run
		}
		select {
		case s.room <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return s.e.batches.Made(&rows{store: s, all: slices.Repeat([]int{noRow}, s.n)}), nil
}

func (s *rowStore) Move(dst *rows, to int, src *rows, from int) {
	defer s.alone(&s.moving)()
	if src.ended || dst.ended || src.all[from] == noRow {
		s.e.fault("row %d of %v moves to %d of %v", from, src.all, to, dst.all)
	}
	dst.set(to, src.all[from])
	src.set(from, noRow)
}

func (s *rowStore) Seal(b *rows, n int) error {
	defer s.alone(&s.moving)()
	if n < 1 || n > s.n || b.ended {
		s.e.fault("%v is sealed with %d rows", b.all, n)
	}
	b.ended, b.size = true, n
	return nil
}

func (s *rowStore) Drop(b *rows) {
	s.using.Lock()
	all := slices.Clone(b.all)
	b.ended = true
	s.using.Unlock()
	s.e.list(slices.DeleteFunc(all, func(v int) bool { return v < 0 }))
	s.gone(b)
}

func (s *rowStore) gone(b *rows) {
	s.e.batches.Gone(b)
	if s.most > 0 {
		<-s.room
	}
}

// alone finds calls of one kind that run at once.
func (s *rowStore) alone(mu *sync.Mutex) func() {
	if !mu.TryLock() {
		s.e.fault("two goroutines are in the store at once")
		return func() {}
	}
	return mu.Unlock
}

func (e *every) fill(f pipe.Flow[int], c construct) pipe.Flow[[]int] {
	write, store := e.write(c), newRowStore(e, c)
	filled := pipe.Fill(f, c.n, store, write, e.fillOpts(c))
	if c.runs {
		asked := new(atomic.Int64)
		size := func() int { return 1 + (c.salt+int(asked.Add(1)))%7 }
		filled = pipe.FillRuns(f, c.n, store, write, several(write), size, e.fillOpts(c))
	}
	return pipe.Map(filled, rowsOf, pipe.Opts{Name: c.name + " rows"})
}

// several writes all numbers of a run at once, and tells of each when it is done, in
// whatever order that is. Of those that panic it says nothing.
func several(write func(context.Context, int, *rows, int) error) func(context.Context, []pipe.Row[int, *rows], func(int, error)) {
	return func(ctx context.Context, run []pipe.Row[int, *rows], done func(int, error)) {
		type outcome struct {
			i    int
			err  error
			said bool
		}
		outcomes := make(chan outcome)
		for i, r := range run {
			go func() {
				o := outcome{i: i}
				defer func() {
					_ = recover()
					outcomes <- o
				}()
				o.err = write(ctx, r.Item, r.Batch, r.Row)
				o.said = true
			}()
		}
		for range run {
			if o := <-outcomes; o.said {
				done(o.i, o.err)
			}
		}
	}
}

func (e *every) write(c construct) func(context.Context, int, *rows, int) error {
	plain := c
	plain.kind, plain.around = "map", ""
	op := e.operation(plain)
	if c.around == "limit" {
		plain.runs = true // not counted
	}
	return func(ctx context.Context, v int, b *rows, row int) error {
		if c.around == "limit" && c.fails(v) {
			defer e.Gone(v)
			if c.flaw(v) == faulty {
				<-ctx.Done()
				b.set(row, lateRow)
				return ctx.Err()
			}
			<-time.After(2 * time.Second)
			b.set(row, lateRow)
			return nil
		}
		out, err := op(ctx, v)
		if err == nil {
			b.set(row, out)
		}
		return err
	}
}
