package compile

import (
	"context"
	"errors"

	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/depth"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/pipe"
)

// collate is the flow of batches after the samples.
func (j joiner) collate(in pipe.Flow[*record.Record], s *section, later bool) pipe.Flow[*batch.Batch] {
	c := s.end.Collating
	together := pipe.AggregateOpts{Name: "group " + c.Name, Buffer: 1, DropLast: c.DropLast}
	rows := c.Rows
	if s.plan.Batch.Lists {
		rows = 0 // they say themselves
	}
	var lists pipe.Flow[[]*record.Record]
	if s.plan.Batch.MaxWait > 0 {
		lists = j.listsInTime(in, c.Name, rows, s)
	} else {
		j.note(together.Name, 1, nil)
		gather := func() pipe.Aggregator[*record.Record, []*record.Record] { return &batch.Gathered{Rows: rows} }
		lists = pipe.Discard(pipe.Aggregate(in, gather, together), c.DropAll)
	}
	return j.collated(lists, s, later)
}

// collateAlike is collate for batches of samples of like length.
func (j joiner) collateAlike(lines []samples, s *section, later bool) (pipe.Flow[*batch.Batch], counted) {
	c := s.end.Collating
	type placed = group.Placed[*record.Record, int]
	begin, err := group.Buckets(itemLength, group.BucketOpts{Lengths: s.plan.Batch.Buckets.Lengths, Sizes: s.Layout.Full()})
	if err != nil {
		return j.fail(err)
	}
	drop := func(p placed) { j.Env.Drop(p.Item) }
	in := turnsOfGroups(j, gathered(j, lines, begin, drop, s), s, drop)

	// Samples are counted from here on, where those of a batch come one after the other:
	// a bucket may wait for many others.
	of := counted{}
	for _, line := range lines {
		passed(line.counted, s.needs())
	}
	if lines[0].by != nil || j.Counts {
		var by *depth.Limit
		in, by = enter(j, in, "after group "+c.Name, func(p placed) *record.Record { return p.Item }, drop)
		of = counted{by: by, each: 1, workers: c.Workers}
	}
	s.Slots.Counts = of.by != nil

	list := pipe.AggregateOpts{Name: "list " + c.Name, Buffer: 1}
	j.note(list.Name, 1, nil)
	return j.collated(pipe.Discard(pipe.Aggregate(in, group.Gather[*record.Record, int], list), c.DropAll), s, later), of
}

// collated has a function make a batch of each list.
func (j joiner) collated(lists pipe.Flow[[]*record.Record], s *section, later bool) pipe.Flow[*batch.Batch] {
	c := s.end.Collating
	s.Slots.Packs = true // a batch is one row
	calls := pipe.FillOpts{
		Name: c.Name, Workers: c.Workers, InFlightPerWorker: c.PerWorker, OnResize: c.Pool.SetWorkers,
		Buffer: j.ahead(s), Ordered: j.fillsInOrder(s, later), Failures: c.Losses,
	}
	j.Calling = append(j.Calling, c.Name)
	j.note(c.Name, c.Workers, []string{c.Name})
	return pipe.Fill(lists, 1, s.Slots, c.Into, calls)
}

// listsInTime are the samples of batches that do not wait for long. Their operations are
// done: samples still in work when a batch is given come into the next.
func (j joiner) listsInTime(in pipe.Flow[*record.Record], of string, rows int, s *section) pipe.Flow[[]*record.Record] {
	// As [batch.Gathered]: nobody waits for the bytes of samples that wait for others.
	park := pipe.Opts{Name: "hold " + of, Ordered: true, Buffer: 1}
	j.note(park.Name, 1, nil)
	held := pipe.Discard(pipe.Map(in, func(_ context.Context, it *record.Record) (*record.Record, error) {
		it.Content.Park()
		it.Working.Park()
		return it, nil
	}, park), j.Env.Drop)
	together := pipe.BatchOpts{Name: "group " + of, Buffer: 1, Within: s.plan.Batch.MaxWait}
	j.note(together.Name, 1, nil)
	return pipe.Batch(held, rows, together)
}

// inTime is the flow of batches that do not wait for long after the samples. A list of
// samples is written at once, by a stage whose only row is the batch.
func (j joiner) inTime(in pipe.Flow[*record.Record], s *section) pipe.Flow[*batch.Batch] {
	name := s.plan.Last.Name()
	lists := j.listsInTime(in, name, s.Rows, s)
	o := pipe.FillOpts{Name: name, Workers: 1, Buffer: j.ahead(s), Ordered: true, Gate: j.Gate, Failures: s.end.Losses}
	j.Computing = append(j.Computing, name)
	j.note(name, 1, s.plan.Last.Names)
	return pipe.Fill(lists, 1, s.Slots, s.end.FillList, o)
}

// group is the flow of batches of similar samples.
func (j joiner) group(lines []samples, s *section, later bool) (pipe.Flow[*batch.Batch], counted) {
	p := s.plan
	switch {
	case p.Batch.Lists:
		list := func(it *record.Record) (int64, bool) { return it.ID.Pos, it.InList == it.OfList-1 }
		return fillGroups(j, lines, group.Lists(list), s, later, func(int) *batch.Form { return &s.Layout.Forms[0] })
	case p.Batch.Pack != nil:
		return j.pack(lines, s, later)
	case p.Batch.Buckets != nil:
		o := group.BucketOpts{Lengths: p.Batch.Buckets.Lengths, Longest: p.Batch.Buckets.Longest}
		for _, f := range s.Layout.Forms {
			o.Sizes = append(o.Sizes, f.Rows)
		}

		// The field that chooses the bucket is not padded like the others.
		if s.end.Grouping.By >= 0 {
			begin, err := group.BucketsOf(itemLength, extentsOf(s.end.Grouping), o)
			if err != nil {
				return j.fail(err)
			}
			return fillGroups(j, lines, begin, s, later, s.Layout.OfExtents)
		}
		begin, err := group.Buckets(itemLength, o)
		if err != nil {
			return j.fail(err)
		}
		return fillGroups(j, lines, begin, s, later, s.Layout.OfLength)
	default:
		shape := func(it *record.Record) (int, error) { return it.Group, nil }
		begin, err := group.Shapes(shape, group.ShapeOpts{Size: s.Layout.Rows, Open: len(s.Layout.Forms)})
		if err != nil {
			return j.fail(err)
		}
		return fillGroups(j, lines, begin, s, later, func(i int) *batch.Form { return &s.Layout.Forms[i] })
	}
}

// gathered puts the samples of each line together, in an object of its own.
func gathered[T any](j joiner, lines []samples, begin func() pipe.Aggregator[*record.Record, T],
	drop func(T), s *section) (flows []pipe.Flow[T]) {
	o := pipe.AggregateOpts{Name: "group " + s.plan.Last.Names[len(s.plan.Last.Names)-1], Buffer: j.Workers,
		DropLast: s.plan.Batch.Pack == nil && s.plan.Batch.DropsLast()}
	if j.inRounds() { // lanes keep enough together
		o.Buffer = 1
	}
	j.note(o.Name, 1, nil)
	for _, in := range lines {
		flows = append(flows, pipe.Discard(pipe.Aggregate(in.Flow, begin, o), drop))
	}
	return flows
}

// pack is the flow of batches whose rows are several samples.
func (j joiner) pack(lines []samples, s *section, later bool) (pipe.Flow[*batch.Batch], counted) {
	begin, err := packing(s)
	if err != nil {
		return j.fail(err)
	}
	s.Slots.Packs = true

	// Rows are handed on one at a time, so that a run can resume after any of them.
	type row = group.Row[*record.Record]
	flows := gathered(j, lines, begin, s.end.DropRow, s)
	in := inTurn(j, flows, s, s.end.DropRow, func(flows []pipe.Flow[row], o pipe.RoundOpts) pipe.Flow[row] {
		o.Each = j.Lanes.Each
		return pipe.Rounds(flows, nil, func(r *row) { r.Ends = true }, o)
	})
	first := func(r row) *record.Record { return r.Segments[0].Item }
	in, of := recountGroups(j, in, s, first, s.end.DropRow, lines, 1)

	filling := j.filling(s, later)
	if j.inRounds() {
		return pipe.FillGroups(in, s.Layout.Rows, func(r row) bool { return r.Ends }, s.Slots, s.end.Pack, filling), of
	}
	filling.DropLast = s.plan.Batch.Pack.DropLast
	return pipe.Fill(in, s.Layout.Rows, s.Slots, s.end.Pack, filling), of
}

// extentsOf returns the extents of the batches that samples are put into.
func extentsOf(g *batch.Grouping) func(int, []pipe.Held[*record.Record]) []int {
	return func(to int, all []pipe.Held[*record.Record]) []int {
		return g.Extents(to, func(yield func(*record.Record) bool) {
			for _, h := range all {
				if !yield(h.Value) {
					return
				}
			}
		})
	}
}

// packing makes what puts samples into rows.
func packing(s *section) (func() pipe.Aggregator[*record.Record, group.Row[*record.Record]], error) {
	p, g := s.plan.Batch.Pack, s.end.Grouping
	lengths := p.Rows(s.plan.Schema)
	of := group.Packed[*record.Record]{Length: itemLength, ID: batch.Name, Domain: g.Domain}
	of.Other = func(it *record.Record, i int) int { return min(g.Length(it.Values, 1+i), lengths[1+i]) }
	if g.Cut != nil {
		of.Cut = g.Cut.Head
	}
	return group.PackBy(of, group.PackOpts{Length: lengths[0], Others: lengths[1:], Segments: p.Segments, Open: p.Open, Fit: fits[p.Fit]})
}

var fits = map[string]group.Fit{"best": group.BestFit, "first": group.FirstFit, "wrap": group.Wrap, "best-wrap": group.BestWrap}

func itemLength(it *record.Record) int { return it.Length }

// fail notes why there is no flow.
func (j joiner) fail(err error) (none pipe.Flow[*batch.Batch], of counted) {
	*j.wrong = errors.Join(*j.wrong, err)
	return none, of
}

// recountGroups is recount for groups of samples, so many at a time.
func recountGroups[T any](j joiner, in pipe.Flow[T], s *section, of func(T) *record.Record, drop func(T),
	lines []samples, together int) (pipe.Flow[T], counted) {
	s.Slots.Counts = lines[0].by != nil // lanes are alike
	if !s.Slots.Counts {
		return in, counted{}
	}
	for _, line := range lines {
		passed(line.counted, together)
	}
	in, by := enter(j, in, "after group "+s.plan.Last.Names[len(s.plan.Last.Names)-1], of, drop)
	return in, counted{by: by, each: 1}
}

// turnsOfGroups joins batches that are each lane's own.
func turnsOfGroups[S any](j joiner, flows []pipe.Flow[group.Placed[*record.Record, S]], s *section,
	drop func(group.Placed[*record.Record, S])) pipe.Flow[group.Placed[*record.Record, S]] {
	type placed = group.Placed[*record.Record, S]
	return inTurn(j, flows, s, drop, func(flows []pipe.Flow[placed], o pipe.RoundOpts) pipe.Flow[placed] {
		j.Turns = o.Name
		return pipe.RoundGroups(flows, placed.Last, o)
	})
}

// fillGroups writes samples into the batches that they come into together. With lanes
// each batch is one lane's.
func fillGroups[S any](j joiner, lines []samples, begin func() pipe.Aggregator[*record.Record, group.Placed[*record.Record, S]],
	s *section, later bool, formOf func(S) *batch.Form) (pipe.Flow[*batch.Batch], counted) {
	end, last := s.end, s.plan.Last
	type placed = group.Placed[*record.Record, S]
	drop := func(p placed) { j.Env.Drop(p.Item) }
	record := func(p placed) *record.Record { return p.Item }

	in := turnsOfGroups(j, gathered(j, lines, begin, drop, s), s, drop)
	in, of := recountGroups(j, in, s, record, drop, lines, s.needs())
	if g := end.Grouping; g.Scope != nil {
		reserve := func(ctx context.Context, p placed) (placed, error) { return p, g.Reserve(ctx, p.Item) }
		o := pipe.Opts{Name: "reserve " + last.Names[0], Ordered: true, Buffer: j.Workers}
		j.note(o.Name, 1, nil)
		in = pipe.Discard(pipe.Map(in, reserve, o), drop)
	}
	write := func(ctx context.Context, p placed, b *batch.Batch, row int) error {
		b.Begin(func() *batch.Form { return formOf(p.Shape) })
		return end.Fill(ctx, p.Item, b, row)
	}
	return pipe.FillGroups(in, s.Layout.Rows, placed.Last, s.Slots, write, j.filling(s, later)), of
}
