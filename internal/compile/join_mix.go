package compile

import (
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/pipe"
)

// arrivals has a merge take the turns of a mix, whose samples count as they arrive. The
// rank, or the lane, has its share of the turns, as of the samples of one source.
func (j joiner) arrivals(n *line, o *pipe.MergeOpts) {
	all, _ := n.merge.Until.Samples()
	part := j.part(all)
	epoch, source := -1, func(int64) int { return 0 }
	o.Order = pipe.ByPick
	o.Pick = func(e int, turn int64) int {
		if e != epoch {
			epoch, source = e, n.mixed.Turns(e)
		}
		place, _ := part.At(turn)
		i := source(place)
		n.mixed.Came(i, 1)
		return i
	}
	o.Without = func(i int, lost int64) error { return n.mixed.Without(i, lost) }
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
	return pipe.Mix(flows, length, park, pipe.MixOpts{Name: o.Name, Buffer: o.Buffer, Shares: n.mixed.Shares, Items: part.Len(),
		Ahead: int64(part.Rank * each), Took: n.mixed.Came, Without: o.Without})
}
