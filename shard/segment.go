package shard

import (
	"context"

	"github.com/headrace/headrace/shard/index"
)

// segment returns that of a shard. Where the index is damaged, the shard is scanned.
func (d *Dataset) segment(i int) (*index.Segment, error) {
	s, err := d.index.Segment(i)
	if err == nil {
		return s, nil
	}
	d.damaged.Lock()
	defer d.damaged.Unlock()
	if s, err := d.index.Segment(i); err == nil {
		return s, nil
	}
	k := &d.shards[i]
	now, err := k.in.Stat(d.reading, k.path)
	if err != nil {
		return nil, err
	}
	if !d.sameFile(i, now) {
		return nil, &Error{Shard: k.key, At: -1, Err: ErrChanged}
	}
	b, err := d.scanShard(d.reading, i, version{Object: now})
	if err != nil {
		return nil, err
	}
	if s, err = index.Parse(b); err != nil {
		return nil, err
	}
	d.index.Replace(i, s)
	return s, nil
}

// scanShard returns the segment of a shard.
func (d *Dataset) scanShard(ctx context.Context, i int, was version) ([]byte, error) {
	s := &d.shards[i]
	f, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	f.doubts = &d.doubts
	if f.is != was.Object {
		return nil, Wrong(f, -1, ErrChanged, "start again when nothing writes to it")
	}
	found := index.Builder{Replaces: d.replaces}
	if err := d.formatOf(i).Scan(ctx, f, &found); err != nil {
		return nil, err
	}
	if now, err := s.in.Stat(ctx, s.path); err != nil || now != was.Object {
		return nil, Wrong(f, -1, ErrChanged, "start again when nothing writes to it")
	}
	return found.Encode(), nil
}
