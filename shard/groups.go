package shard

import (
	"context"
	"errors"
	"fmt"
	"sort"

	"github.com/headrace/headrace/sample"
)

// Groups are runs of neighbours that have the same value in a column, such as an episode.
// None goes from one shard into the next.
type Groups struct {
	starts []int64 // the first sample of each; then how many samples there are
}

// Around returns the samples from, …, end-1 of the group that has one.
func (g *Groups) Around(i int64) (from, end int64) {
	k := sort.Search(len(g.starts), func(k int) bool { return g.starts[k] > i })
	return g.starts[k-1], g.starts[k]
}

// Groups finds the groups of a column, of which a sample may have so many bytes; "": each
// shard is a group.
func (d *Dataset) Groups(ctx context.Context, column string, most int64) (*Groups, error) {
	var g *Gatherer
	if column != "" {
		r, err := d.Select(ctx, Column{From: column})
		if err != nil {
			return nil, err
		}
		if is := r.Types()[0]; is.Kind == sample.Tensor && len(is.Shape) > 0 {
			return nil, fmt.Errorf("%w: %q is %v: groups have one number or text", ErrUnsupported, column, is)
		}
		if g, err = r.Gatherer([]int{0}, most, nil); err != nil {
			return nil, err
		}
	}

	all, first := &Groups{}, int64(0)
	for shard := range d.index.Shards {
		n := d.index.Shards[shard].Samples
		if n > 0 {
			all.starts = append(all.starts, first)
		}
		if g != nil {
			if err := all.divide(ctx, g, first, n); err != nil {
				return nil, err
			}
		}
		first += n
	}
	all.starts = append(all.starts, first)
	return all, nil
}

// noGroup is the error of values that are read from a sample on. For null there is no
// other value here.
func (g *Gatherer) noGroup(err error, from int64) error {
	bad := (*RowError)(nil)
	if !errors.Is(err, ErrNoValue) || !errors.As(err, &bad) {
		return err
	}
	shard, in := g.r.d.Place(from + int64(bad.Row))
	return fmt.Errorf("%w: %q has no value (null)\nin %s, sample %d: "+
		"each row needs one that says which group it is in, so write the file again", ErrUnsupported, g.r.columns[0].From, shard, in)
}

// valuesAtOnce values of a column are looked at together.
const valuesAtOnce = 4096

// divide notes where groups begin, of samples of one shard, but for the first.
func (g *Groups) divide(ctx context.Context, of *Gatherer, first, n int64) error {
	var last []byte
	return eachValue(ctx, of, first, n, func(i int64, value []byte) error {
		if i > first && string(value) != string(last) {
			g.starts = append(g.starts, i)
		}
		last = append(last[:0], value...)
		return nil
	})
}

// eachValue calls a function with the value of each of n samples from one on, of the one
// column of a gatherer.
func eachValue(ctx context.Context, of *Gatherer, first, n int64, do func(i int64, value []byte) error) error {
	size := of.columns[0].size
	samples := make([]int64, valuesAtOnce)
	target := Target{Texts: &sample.Texts{}}
	if size > 0 {
		target = Target{Data: make([]byte, valuesAtOnce*size)}
	}
	for from := first; from < first+n; {
		some := samples[:min(valuesAtOnce, first+n-from)]
		for k := range some {
			some[k] = from + int64(k)
		}
		if target.Texts != nil {
			target.Texts.Reset()
		}
		if _, err := of.Gather(ctx, some, []Target{target}); err != nil {
			return of.noGroup(err, from)
		}
		begin := 0
		for k := range some {
			var value []byte
			if size > 0 {
				value = target.Data[k*size:][:size]
			} else {
				value = target.Texts.Bytes[begin:target.Texts.Ends[k]]
				begin = target.Texts.Ends[k]
			}
			if err := do(from+int64(k), value); err != nil {
				return err
			}
		}
		if from += int64(len(some)); ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}
