package compile

import (
	"context"
	"iter"

	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/pipe"
)

// Lanes divide an order. Each of the rank's lanes repeats the line of a plan, up to the
// stage that fills batches, with other shares of the sources.
type Lanes struct {
	Sources [][]*source.Listing // of each lane, in the order of the plan
	First   int                 // the number of the first
	Count   int                 // of all lanes, over all ranks
	Each    int                 // rows of each in a batch
	Whole   bool                // an epoch ends with the last step that has a batch of every lane

	Part func(lane int, samples int64) order.Split // which of a number of samples are a lane's
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

// part returns which of a number of samples are the rank's, or the lane's.
func (j joiner) part(samples int64) order.Split {
	if j.lane == nil {
		return j.Part(samples)
	}
	return j.Lanes.Part(j.lane.number, samples)
}

// most returns the number of samples at which a merge that counts them ends an epoch.
func (j joiner) most(n *line) int64 {
	if j.lane == nil {
		return n.most
	}
	return j.Lanes.most(n, j.lane.number)
}

func (t Lanes) most(n *line, lane int) int64 {
	all, _ := n.merge.Until.Samples()
	return t.Part(lane, all).Len()
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

// inRounds reports whether several lanes join here, in rounds.
func (j joiner) inRounds() bool { return j.Lanes != nil && j.lane == nil }

// lines makes the flow of each lane; without lanes there is one. People are told of
// stages once.
func (j joiner) lines(make func(j joiner) samples) (all []samples) {
	if !j.inRounds() {
		return []samples{make(j)}
	}
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

// inTurn joins the flows of lanes, in rounds; without lanes there is one flow.
func inTurn[T any](j joiner, flows []pipe.Flow[T], s *section, drop func(T),
	join func([]pipe.Flow[T], pipe.RoundOpts) pipe.Flow[T]) pipe.Flow[T] {
	if !j.inRounds() {
		return flows[0]
	}
	j.note(roundsName, 1, nil)
	o := pipe.RoundOpts{Name: roundsName, Buffer: keptReady, First: j.Lanes.First, DropLast: s.plan.Batch.DropsLast() || j.Lanes.Whole}
	return pipe.Discard(join(flows, o), drop)
}

// rows takes the next samples of each lane, as many as a batch has rows of it.
func (j joiner) rows(lines []samples, s *section) samples {
	if !j.inRounds() {
		return lines[0]
	}
	var flows []pipe.Flow[*record.Record]
	var before []counted
	for _, line := range lines {
		flows, before = append(flows, line.Flow), append(before, line.counted)
	}
	in := inTurn(j, flows, s, j.Env.Drop, func(flows []pipe.Flow[*record.Record], o pipe.RoundOpts) pipe.Flow[*record.Record] {
		o.Each = j.Lanes.Each
		return pipe.Rounds(flows, park, func(it **record.Record) { (*it).EndsRound = true }, o)
	})
	all := j.recount(samples{Flow: in}, "after "+roundsName, before...)
	if s.plan.Batch.DropsLast() { // a round goes on when all of it is there
		for _, of := range before {
			passed(of, j.Lanes.Each)
		}
	}
	return all
}

// park lets others have bytes before a sample that waits for them: they may be of its
// round, and wait for bytes themselves.
func park(it *record.Record) {
	it.Content.Park()
	it.Working.Park()
}

// rounds returns the number of batches of an epoch that have rows of some lanes, or an
// upper bound.
func (t Lanes) rounds(s *section, first, end int) (batches int64, exact bool) {
	exact = true
	fewest := int64(-1)
	for number := first; number < end; number++ {
		samples, known := s.line.epochOf(part{
			func(whole *source.Listing) int64 { return t.Part(number, whole.Places()).Len() },
			func(n *line) int64 { return t.most(n, number) },
		})
		exact = exact && known
		if s.ofLanes() {
			batches += MostBatches(s.Layout, *s.plan, samples)
			continue
		}
		batches = max(batches, (samples+int64(t.Each)-1)/int64(t.Each))
		if n := samples / int64(t.Each); fewest < 0 || n < fewest {
			fewest = n
		}
	}
	if s.plan.Batch.DropsLast() && exact && fewest >= 0 {
		batches = fewest
	}
	return batches, exact && !s.Groups
}

// ofLanes reports whether each lane has batches of its own, as those of similar samples.
func (s *section) ofLanes() bool { return s.Groups && s.plan.Batch.Pack == nil }
