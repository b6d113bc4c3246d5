package pipe_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"pgregory.net/rapid"

	"headrace/pipe"
	"headrace/pipe/pipetest"
)

// A chain is a random flow: a source, or a merge of chains, and constructs after it.
type chain struct {
	source string
	items  int
	inputs []chain // of the merge that it begins with, if there are any
	merge  construct
	steps  []construct
}

// A construct is one stage, or a few that make numbers of numbers again.
type construct struct {
	kind     string
	name     string
	salt     int
	workers  int
	buffer   int
	ordered  bool
	n        int
	dropLast bool
	around   string // an operation around the operation
	turns    string // of a merge
	short    bool
	branches [][]construct // of a route
}

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
}

func (d *draft) number(what string, lo, hi int) int {
	return rapid.IntRange(lo, hi).Draw(d.T, fmt.Sprint(what, d.count))
}

func (d *draft) chance(what string, percent int) bool { return d.number(what, 0, 99) < percent }

func (d *draft) name(what string) string {
	d.count++
	return fmt.Sprint(what, d.count)
}

func (d *draft) chain(depth int) (c chain) {
	if depth > 0 && d.chance("merge", 25) {
		for range d.number("inputs", 1, 3) {
			c.inputs = append(c.inputs, d.chain(depth-1))
		}
		c.merge = d.construct("merge")
		c.merge.turns = rapid.SampledFrom(append([]string{"arrival", "round robin", "own"}, d.more...)).Draw(d.T, "turns")
		c.merge.short = c.merge.turns != "arrival" && d.exact && d.chance("shortest", 30)
		d.loose = d.loose || c.merge.short
		d.exact = d.exact && (c.merge.turns != "arrival" || len(c.inputs) == 1)
	} else {
		c.source, c.items = d.name("source"), d.number("items", 0, 14)
	}
	c.steps = d.steps(depth, false)
	return c
}

// steps draws constructs; strict ones make one item of each, in order.
func (d *draft) steps(depth int, strict bool) (all []construct) {
	kinds := []string{"map", "with", "filter", "flat", "batch", "divide", "aggregate", "buckets", "fill", "groups", "route", "map"}
	if strict {
		kinds = []string{"map", "with", "filter", "route"}
	}
	for range d.number("steps", 0, 3) {
		kind := rapid.SampledFrom(kinds).Draw(d.T, "kind")
		if kind == "divide" && !d.exact || kind == "route" && depth == 0 {
			kind = "map"
		}
		if d.sure && !d.exact && slices.Contains([]string{"batch", "divide", "aggregate", "buckets", "fill", "groups"}, kind) {
			kind = "map"
		}
		s := d.construct(kind)
		s.ordered = s.ordered || d.sure && kind == "fill"
		if d.changing && (kind == "fill" || kind == "groups") {
			s.around = "" // more operations may be abandoned than there are workers then
		}
		if s.ordered = s.ordered || strict; !s.ordered && (s.workers > 1 || d.changing || s.kind == "fill" && s.around == "limit") && slices.Contains([]string{"map", "with", "filter", "flat", "fill"}, kind) {
			d.exact = false
		}
		s.dropLast = s.dropLast && d.exact && slices.Contains([]string{"batch", "buckets", "fill"}, kind)
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
	return construct{
		kind: kind, name: d.name(kind), salt: d.number("salt", 0, 1<<20), workers: d.number("workers", 1, 3), buffer: d.number("buffer", 1, 3),
		ordered: d.chance("ordered", 70), n: d.number("n", 1, 4), dropLast: d.chance("drop last", 30),
		around: rapid.SampledFrom([]string{"", "", "retry", "replace", "limit"}).Draw(d.T, "around"),
	}
}

// fate is what happens to a number at a stage: it depends on nothing else.
func (c construct) fate(v int) int {
	h := uint64(v)*0x9e3779b97f4a7c15 + uint64(c.salt)*0xbf58476d1ce4e5b9
	h ^= h >> 29
	h *= 0x94d049bb133111eb
	return int(h >> 40)
}

// becomes is the model of an operation: what a number becomes, and whether it is lost or
// dropped.
func (c construct) becomes(v int) (out int, err error) {
	switch f := c.fate(v) % 12; {
	case f == 0:
		return 0, pipe.Skip
	case f > 2 || c.around == "retry":
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
	switch c.fate(v) % 12 {
	case 0:
		return all, pipe.Skip
	case 1:
		return all, errFault
	}
	return all, nil
}

// every runs a definition for real.
type every struct {
	pipetest.Owner[int]
	tried  sync.Map
	traced bool

	changeable []string // stages whose number of workers changes all the time
	seed       uint64
}

func (e *every) list(list []int) {
	for _, v := range list {
		e.Gone(v)
	}
}

func (e *every) flow(c chain) pipe.Flow[int] {
	if c.inputs == nil {
		number := int(c.source[len(c.source)-1]) + 16*len(c.source)
		f := pipe.From(c.source, pipetest.Numbers{N: c.items, Value: func(epoch int, pos int64) int { return e.Made(numberOf(number, epoch, int(pos))) }})
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

func numberOf(source, epoch, pos int) int { return source<<12 | epoch<<8 | pos }

func (e *every) steps(f pipe.Flow[int], steps []construct) pipe.Flow[int] {
	for _, s := range steps {
		f = pipe.Discard(e.step(f, s), e.Gone)
	}
	return f
}

func (e *every) step(f pipe.Flow[int], c construct) pipe.Flow[int] {
	o := pipe.Opts{Name: c.name, Workers: c.workers, Buffer: c.buffer, Ordered: c.ordered}
	unbatch := func(f pipe.Flow[[]int]) pipe.Flow[int] {
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
	case "divide":
		return unbatch(e.divide(pipe.Batch(f, c.n, pipe.BatchOpts{Name: c.name + " batch"}), c))
	case "aggregate":
		begin := func() pipe.Aggregator[int, []int] { return &pairs{n: c.n} }
		return unbatch(pipe.Aggregate(f, begin, pipe.AggregateOpts{Name: c.name, Buffer: c.buffer}))
	case "buckets":
		begin := func() pipe.Aggregator[int, []int] { return &sorter{construct: c, e: e} }
		return unbatch(pipe.Aggregate(f, begin, pipe.AggregateOpts{Name: c.name, Buffer: c.buffer, DropLast: c.dropLast}))
	case "fill":
		return unbatch(pipe.Map(pipe.Fill(f, c.n, rowStore{e, c.n}, e.write(c), c.fillOpts()), rowsOf, pipe.Opts{Name: c.name + " rows"}))
	case "groups":
		begin := func() pipe.Aggregator[int, placed] { return &placer{sorter{construct: c, e: e}} }
		items := pipe.Discard(pipe.Aggregate(f, begin, pipe.AggregateOpts{Name: c.name + " buckets"}), func(p placed) { e.Gone(p.v) })
		op := e.write(c)
		write := func(ctx context.Context, p placed, b *rows, row int) error { return op(ctx, p.v, b, row) }
		fill := pipe.FillGroups(items, c.n, func(p placed) bool { return p.last }, rowStore{e, c.n}, write, c.fillOpts())
		return unbatch(pipe.Map(fill, rowsOf, pipe.Opts{Name: c.name + " rows"}))
	case "route":
		var branches []func(pipe.Flow[int]) pipe.Flow[int]
		for _, steps := range c.branches {
			branches = append(branches, func(f pipe.Flow[int]) pipe.Flow[int] { return e.steps(f, steps) })
		}
		pick := func(_ context.Context, v int) (int, error) { return c.picks(v, len(branches)), nil }
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

// pause takes as long as the number's fate says: often nothing.
func (c construct) pause(ctx context.Context, v int) error {
	if d := time.Duration(c.fate(v)/64%8) - 4; d > 0 {
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
		if err := c.pause(ctx, v); err != nil {
			return 0, err
		}
		bad := c.fate(v)%12 == 1 || c.fate(v)%12 == 2
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
			if c.fate(v)%12 == 2 {
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
				if late := c.pause(ctx, child); late != nil {
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
	pick := func(_ context.Context, v int) (int, error) { return c.picks(v, 2), nil }
	return pipe.RouteBatch(f, pick, batchBranches{branch(0), branch(1)}, pipe.RouteBatchOpts{Name: c.name, Buffer: c.buffer})
}

// part is the model of a branch of divide.
func (c construct) part(k int, list []int) ([]int, error) {
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
		switch c.fate(v) % 12 {
		case 0:
			return 0, pipe.Skip
		case 1:
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
	if s.fate(v.Value)%12 == 0 {
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
	all    []int
	sealed int
}

const (
	noRow   = -1
	lateRow = -2 // is written by an operation after it was abandoned
)

func rowsOf(_ context.Context, b *rows) ([]int, error) { return b.all[:b.sealed], nil }

func (c construct) fillOpts() pipe.FillOpts {
	o := pipe.FillOpts{Name: c.name, Workers: c.workers, Buffer: c.buffer, Ordered: c.ordered, DropLast: c.dropLast}
	if c.around == "limit" {
		o.Limit = time.Second
	}
	return o
}

type rowStore struct {
	e *every
	n int
}

func (s rowStore) Reserve(context.Context) (*rows, error) {
	return &rows{all: slices.Repeat([]int{noRow}, s.n)}, nil
}

func (s rowStore) Move(dst *rows, to int, src *rows, from int) {
	dst.all[to], src.all[from] = src.all[from], noRow
}

func (s rowStore) Seal(b *rows, n int) error {
	b.sealed = n
	return nil
}

func (s rowStore) Drop(b *rows) {
	s.e.list(slices.DeleteFunc(slices.Clone(b.all), func(v int) bool { return v < 0 }))
}

func (e *every) write(c construct) func(context.Context, int, *rows, int) error {
	op := e.operation(construct{kind: "map", name: c.name, salt: c.salt})
	return func(ctx context.Context, v int, b *rows, row int) error {
		if bad := c.fate(v) % 12; c.around == "limit" && (bad == 1 || bad == 2) {
			defer e.Gone(v)
			if bad == 1 {
				<-ctx.Done()
				return ctx.Err()
			}
			<-time.After(2 * time.Second)
			b.all[row] = lateRow
			return nil
		}
		out, err := op(ctx, v)
		if err == nil {
			b.all[row] = out
		}
		return err
	}
}
