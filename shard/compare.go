package shard

import (
	"fmt"

	"github.com/headrace/headrace/shard/index"
)

// compare makes sure that what is before the parts that were read tells of them.
func (d *Dataset) compare(f Preceded, p *Place, buf []byte) error {
	if _, scanned := d.assured.Load(p.shard); scanned || len(p.wanted) == 0 {
		return nil
	}
	var room [128]byte
	key, err := p.segment.Key(p.in, room[:0])
	if err != nil {
		return &Error{Shard: d.shards[p.shard].key, At: -1, Err: err}
	}
	for _, w := range p.wanted {
		head := p.of(index.Part{At: w.At - f.Head(), Len: f.Head()}, buf)
		if !f.Heads(head, key, p.segment.Fields[w.Field].Name, w.Len) {
			return d.assure(p.shard, w.At)
		}
	}
	return nil
}

// assure scans a shard, some of whose parts have another name or size in front of them: a
// link does, which is the part of another name. Once what is found is what the index has,
// nothing is compared any more.
func (d *Dataset) assure(shard int, at int64) error {
	d.damaged.Lock()
	defer d.damaged.Unlock()
	if _, done := d.assured.Load(shard); done {
		return nil
	}
	s := &d.shards[shard]
	now, err := s.in.Stat(d.reading, s.path)
	if err != nil {
		return err
	}
	found, err := d.scanShard(d.reading, shard, version{Object: now})
	if err != nil || index.Digest(found) != d.index.Shards[shard].Digest {
		return &Error{Shard: s.key, At: at, Err: fmt.Errorf("%w: other samples are in it than when it was indexed; "+
			"index it again: headrace index --force", ErrChanged)}
	}
	d.assured.Store(shard, true)
	return nil
}
