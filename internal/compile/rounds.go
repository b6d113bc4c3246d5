package compile

import (
	"context"
	"iter"

	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/pipe"
)

// Lanes divide an order. Each of the rank's lanes repeats the line of a plan, up to the
// stage that fills batches, with other shares of the sources.
type Lanes struct {
	Sources [][]*source.Listing // of each lane, in the order of the plan
	First   int                 // the number of the first
	Count   int                 // of all lanes, over all ranks
	Each    int                 // rows of each in a batch

	Share    func(lane int, samples int64) int64         // how many of a number of samples are a lane's
	Expected func(lane int, whole *source.Listing) int64 // how many of a source are, of any lane
}

// roundsName names the stage that takes the next rows of each lane.
const roundsName = "take from lanes"

// lane identifies the lane for which stages are put together.
type lane struct {
	number  int // among all ranks'
	sources map[*source.Listing]*source.Listing
	others  int // lanes of the rank besides
}

// listing returns a source of the plan, or the lane's share of it.
func (j joiner) listing(whole *source.Listing) *source.Listing {
	if j.lane == nil {
		return whole
	}
	return j.lane.sources[whole]
}

// most returns the number of samples at which a merge ends an epoch; 0: it has none.
func (j joiner) most(n *line) int64 {
	if j.lane == nil || n.most == 0 {
		return n.most
	}
	return j.Lanes.most(n, j.lane.number)
}

func (t Lanes) most(n *line, lane int) int64 {
	all, _ := n.merge.Until.Samples()
	return t.Share(lane, all)
}

// ready returns the buffer of a stage that would keep n results ready without lanes. Many
// lanes keep enough together.
func (j joiner) ready(n int) int {
	if j.lane == nil || j.lane.others == 0 {
		return n
	}
	return 1
}

// own returns a section with slots of the lane's own.
func (j joiner) own(s *section) *section {
	if j.lane == nil || s.Slots.Lane == nil {
		return s
	}
	mine := *s
	mine.Slots = &batch.Slots{Layout: s.Slots.Layout, Lane: s.Slots.Lane.Another(), Memory: s.Slots.Memory}
	return &mine
}

// sequence returns the operation that makes several samples of one. Lanes share the
// workers of a function, and none may keep a worker while it waits for its turn: the lane
// whose turn it is could need it. So a lane takes all samples before the first goes on.
func (j joiner) sequence(s *stage) expander {
	if j.lane == nil || s.python == nil {
		return s.expand
	}
	return func(ctx context.Context, it *record.Record) iter.Seq2[*record.Record, error] {
		return func(yield func(*record.Record, error) bool) {
			var all []*record.Record
			var end error

			// A failure comes after the samples before it.
			for made, err := range s.expand(ctx, it) {
				if end = err; err != nil {
					break
				}
				all = append(all, made)
			}

			for i, made := range all {
				if !yield(made, nil) {
					for _, left := range all[i+1:] {
						j.Env.Drop(left)
					}
					return
				}
			}
			if end != nil {
				yield(nil, end)
			}
		}
	}
}

// aggregator returns the maker of samples of several, with an object for each lane.
func (j joiner) aggregator(s *stage) func() pipe.Aggregator[*record.Record, *record.Record] {
	if j.lane == nil {
		return s.aggregate.Aggregator
	}
	return s.aggregate.InLane(j.lane.number - j.Lanes.First)
}

// eachLane makes the flow of each lane. People are told of stages once.
func (j joiner) eachLane(make func(j joiner) samples) (all []samples) {
	program := j.Program
	for i, shares := range j.Lanes.Sources {
		j.lane = &lane{number: j.Lanes.First + i, sources: map[*source.Listing]*source.Listing{}, others: len(j.Lanes.Sources) - 1}
		for k, whole := range j.Begins {
			j.lane.sources[whole] = shares[k]
		}
		if i > 0 {
			j.Program = &Program{}
		}
		all = append(all, make(j))
		if i > 0 {
			program.Limits = append(program.Limits, j.Limits...)
		}
	}
	return all
}

// inRounds makes the pipeline of a section whose batches have the next rows of each lane.
func (j joiner) inRounds(s *section, later bool) (pipe.Flow[*batch.Batch], counted) {
	rows := func(of []samples) pipe.RoundOpts {
		j.note(roundsName, 1, nil)
		return pipe.RoundOpts{Name: roundsName, Buffer: keptReady, First: j.Lanes.First, Each: j.Lanes.Each,
			DropLast: s.plan.Batch.DropsLast()}
	}
	lines := j.eachLane(func(j joiner) samples {
		return j.line(samples{}, s.line, later || s.end.Replaces || s.plan.Batch.Pack != nil)
	})
	if s.end.Grouping != nil {
		return j.packedRounds(lines, s, later, rows(lines))
	}

	last := func(it **record.Record) { (*it).EndsRound = true }
	in := samples{Flow: pipe.Discard(pipe.Rounds(flowsOf(lines), park, last, rows(lines)), j.Env.Drop)}
	in = j.recount(in, "after "+roundsName, countsOf(lines)...)
	if s.plan.Batch.DropsLast() { // a round goes on when all of it is there
		for _, of := range lines {
			passed(of.counted, j.Lanes.Each)
		}
	}
	if python := s.end.Calls(); python != nil {
		in = j.count(in, s.plan.Last.Name())
		in.workers = max(in.workers, python.Workers)
	}
	s.Slots.Counts = in.by != nil
	if s.end.Collating != nil {
		return j.collate(in.Flow, s, later), in.counted
	}
	ends := func(it *record.Record) bool { return it.EndsRound }
	return pipe.FillGroups(in.Flow, s.Layout.Rows, ends, s.Slots, s.end.Fill, j.filling(s, false, later)), in.counted
}

// park lets others have bytes before a sample that waits for them: they may be of its
// round, and wait for bytes themselves.
func park(it *record.Record) {
	it.Content.Park()
	it.Working.Park()
}

// packedRounds does the same for rows into which each lane packs its samples.
func (j joiner) packedRounds(lines []samples, s *section, later bool, o pipe.RoundOpts) (pipe.Flow[*batch.Batch], counted) {
	begin, err := packing(s)
	if err != nil {
		return j.fail(err)
	}
	s.Slots.Packs = true
	step := s.plan.Last.Names[len(s.plan.Last.Names)-1]
	together := pipe.AggregateOpts{Name: "group " + step, Buffer: 1}
	j.note(together.Name, 1, nil)
	type row = group.Row[*record.Record]
	first := func(r row) *record.Record { return r.Segments[0].Item }
	var flows []pipe.Flow[row]
	for _, in := range lines {
		passed(in.counted, 1)
		flows = append(flows, pipe.Discard(pipe.Aggregate(in.Flow, begin, together), s.end.DropRow))
	}
	rows := pipe.Discard(pipe.Rounds(flows, nil, func(r *row) { r.Ends = true }, o), s.end.DropRow)
	rows, known := recountGroups(j, rows, step, first, s.end.DropRow, lines[0].counted, 1)
	filling := j.filling(s, false, later)
	filling.Ordered = filling.Ordered || s.plan.Batch.Pack.Cuts() // what is left of a sample comes after its beginning
	return pipe.FillGroups(rows, s.Layout.Rows, func(r row) bool { return r.Ends }, s.Slots, s.end.Pack, filling), known
}

func flowsOf(all []samples) (flows []pipe.Flow[*record.Record]) {
	for _, s := range all {
		flows = append(flows, s.Flow)
	}
	return flows
}

func countsOf(all []samples) (counts []counted) {
	for _, s := range all {
		counts = append(counts, s.counted)
	}
	return counts
}

// rounds returns the number of batches of an epoch that have rows of some lanes, or an
// upper bound.
func (t Lanes) rounds(s *section, first, end int) (batches int64, exact bool) {
	exact = true
	fewest := int64(-1)
	for number := first; number < end; number++ {
		samples, known := s.line.epochOf(part{
			func(whole *source.Listing) int64 { return t.Expected(number, whole) },
			func(n *line) int64 { return t.most(n, number) },
		})
		exact = exact && known
		batches = max(batches, (samples+int64(t.Each)-1)/int64(t.Each))
		if n := samples / int64(t.Each); fewest < 0 || n < fewest {
			fewest = n
		}
	}
	if s.plan.Batch.DropsLast() && exact {
		batches = fewest
	}
	return batches, exact && !s.plan.Batch.Policy()
}
