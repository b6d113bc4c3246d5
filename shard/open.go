package shard

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Open finds the samples of shards. From is names of files or folders, or patterns; in
// braces are ranges and lists, as "train-{000..129}.tar".
//
// What is in the shards is kept in an index, so that the next Open takes no time. An
// index that is missing or damaged, or that of shards which have changed, is made again,
// shards side by side, and only of what has changed.
func Open(ctx context.Context, from []string, o Options) (*Dataset, error) {
	if len(Names()) == 0 {
		return nil, fmt.Errorf("%w: this program has no formats of shards: import "+
			"github.com/headrace/headrace/shard/formats", ErrUnsupported)
	}
	if o.Format != "" && !slices.Contains(Names(), o.Format) {
		return nil, fmt.Errorf("%w: there is no format %q, but %s", ErrUnsupported, o.Format, strings.Join(Names(), ", "))
	}
	l := lister{ctx: ctx, root: o.Root, format: o.Format}
	if err := l.list(from); err != nil {
		return nil, err
	}
	d := &Dataset{shards: l.all, names: namesWithin(l.all), replaces: o.Replaces}
	d.reading, d.stop = context.WithCancel(context.WithoutCancel(ctx))
	d.blocks.limit = cmp.Or(o.Blocks, 256<<20)
	versions, err := d.versions(ctx, o)
	if err != nil {
		return nil, err
	}
	d.doubts.data = d.local()
	if err := d.load(ctx, versions, o); err != nil {
		return nil, err
	}
	d.handles = newHandles(d.openShard)
	d.sniffed = sync.OnceValues(d.sniff)
	return d, nil
}

// openShard opens a shard, and makes sure that it is as it was indexed.
func (d *Dataset) openShard(i int) (*opened, error) {
	s := &d.shards[i]
	f, err := s.open(d.reading)
	if err != nil {
		return nil, err
	}
	if was := &d.index.Shards[i]; !d.sameFile(i, f.is) {
		f.Close()
		return nil, Wrong(f, -1, ErrChanged, "it was %d bytes when it was indexed, and is %d, "+
			"or was written again; start again to index it again", was.Size, f.Size())
	}
	return f, nil
}
