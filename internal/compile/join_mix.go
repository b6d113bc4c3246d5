package compile

import (
	"context"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/pipe"
)

// arrivals has a merge take the turns of a mix, whose samples count as they arrive. The
// rank, or the lane, has its share of the turns, as of the samples of one source.
func (j joiner) arrivals(n *line, o *pipe.MergeOpts) {
	all, _ := n.merge.Until.Samples()
	part := j.part(all)
	o.Without = func(i int, lost int64) error { return n.mixed.Without(i, lost) }
	o.Took = func(i int) { n.mixed.Came(i, 1) }
	if n.chooser != nil {
		j.choose(n, o, part)
		return
	}
	epoch, source := -1, func(int64) int { return 0 }
	o.Order = pipe.ByPick
	o.Pick = func(e int, turn int64) int {
		if turn >= part.Len() {
			return -1
		}
		if e != epoch {
			epoch, source = e, n.mixed.Turns(e)
		}
		place, _ := part.At(turn)
		return source(place)
	}
}

// mostChosen is how many turns a function chooses at a time: asking takes as long as
// choosing for some dozens.
const mostChosen = 64

// choose has a function of Python say whose turn it is. It is told the turns of the mix,
// over all lanes and epochs, so that one that goes by their numbers chooses the same
// however many lanes there are.
func (j joiner) choose(n *line, o *pipe.MergeOpts, part order.Split) {
	lane := 0
	if j.lane != nil {
		lane = j.lane.number
	}
	o.Order = pipe.ByChoice
	o.Choose = func(ctx context.Context, at pipe.Turn) (c pipe.Chosen, err error) {
		var turns []int64
		for turn := at.Turn; turn < part.Len() && len(turns) < mostChosen; turn++ {
			place, _ := part.At(turn)
			turns = append(turns, int64(at.Epoch)*part.Samples+place)
		}
		if turns == nil {
			return c, nil
		}
		c.Inputs, c.Says, err = n.chooser.Choose(ctx, at.Epoch, lane, turns, at.Said)
		return c, err
	}
}

// merged puts the flows of a merge together; or of a mix, where lengths say whose turn it
// is. Each lane counts for itself, and they begin as if they followed each other: at any
// time, their next samples have the shares of all sources.
func (j joiner) merged(n *line, flows []pipe.Flow[*record.Record], o pipe.MergeOpts) pipe.Flow[*record.Record] {
	if n.mixed == nil || n.merge.Mix.By == "" {
		return pipe.Merge(flows, o)
	}
	all, _ := n.merge.Until.Samples()
	part, each := j.part(all), 1
	if j.lane != nil {
		each = j.Lanes.Each
	}
	length := func(it *record.Record) int64 { return int64(it.Length) }
	m := pipe.MixOpts{Name: o.Name, Buffer: o.Buffer, Shares: n.mixed.Stretches[0].Shares, Items: part.Len(),
		Ahead: int64(part.Rank * each), Took: n.mixed.Came, Without: o.Without}
	for _, s := range n.mixed.Stretches[1:] {
		m.Later = append(m.Later, s.Shares)
	}
	if m.Later != nil {
		m.Stretch = func(epoch int, turn int64) int {
			place, _ := part.At(turn)
			return n.mixed.Stretch(int64(epoch)*all + place)
		}
	}
	return pipe.Mix(flows, length, park, m)
}
