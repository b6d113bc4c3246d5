package shard

import (
	"container/list"
	"context"
	"errors"
	"sync"
)

// blocks are those unpacked last. Samples that share one, and come close to each other,
// have it unpacked once.
type blocks struct {
	limit int64 // bytes that are kept

	mu    sync.Mutex // guards what is below
	known map[blockID]*block
	used  list.List // of *block, the one used last in front
	bytes int64
}

var errUnpack = errors.New("shard: a block was not unpacked")

type blockID struct{ shard, block int }

type block struct {
	id    blockID
	size  int64
	place *list.Element
	done  chan struct{} // closed when data and err are there
	data  []byte
	err   error
}

// get returns a block, which nobody may write to. Of several that want it at once, one
// unpacks it.
func (b *blocks) get(ctx context.Context, id blockID, size int64, unpack func() ([]byte, error)) ([]byte, error) {
	b.mu.Lock()
	if k := b.known[id]; k != nil {
		b.used.MoveToFront(k.place)
		b.mu.Unlock()
		select {
		case <-k.done:
			return k.data, k.err
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	k := &block{id: id, size: size, done: make(chan struct{})}
	if b.known == nil {
		b.known = map[blockID]*block{}
	}
	b.known[id] = k
	k.place = b.used.PushFront(k)
	b.bytes += size
	for e := b.used.Back(); b.bytes > b.limit && e != nil; {
		old := e.Value.(*block)
		e = e.Prev()
		b.forget(old) // whoever waits for it, or reads it, goes on with it
	}
	b.mu.Unlock()

	k.err = errUnpack // stays where unpack panics
	defer close(k.done)
	if k.data, k.err = unpack(); k.err != nil {
		b.mu.Lock()
		b.forget(k)
		b.mu.Unlock()
	}
	return k.data, k.err
}

func (b *blocks) forget(k *block) {
	if b.known[k.id] == k {
		delete(b.known, k.id)
		b.used.Remove(k.place)
		b.bytes -= k.size
	}
}
