package shard

import (
	"container/list"
	"sync"
	"syscall"
)

// handles are the shards that are open: those used last, as many as this process may have
// open files for. One that is in use stays.
type handles struct {
	open func(shard int) (*opened, error)
	most int

	mu    sync.Mutex // guards what is below
	known map[int]*handle
	used  list.List // of *handle, the one used last in front
}

type handle struct {
	shard int
	users int
	place *list.Element
	once  sync.Once
	file  *opened
	err   error
}

// mostOpen bounds how many shards are open, where the system would allow more: an open
// file costs the kernel about a kilobyte.
const mostOpen = 1024

func newHandles(open func(int) (*opened, error)) *handles {
	most := 64
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) == nil {
		most = int(max(8, min(l.Cur/4, mostOpen)))
	}
	return &handles{open: open, most: most, known: map[int]*handle{}}
}

// take returns a shard that is open, until it is given back.
func (h *handles) take(shard int) (*handle, error) {
	h.mu.Lock()
	k := h.known[shard]
	if k == nil {
		k = &handle{shard: shard}
		k.place = h.used.PushFront(k)
		h.known[shard] = k
	} else {
		h.used.MoveToFront(k.place)
	}
	k.users++
	old := h.surplus()
	h.mu.Unlock()

	for _, o := range old {
		o.close()
	}
	k.once.Do(func() { k.file, k.err = h.open(shard) })
	if k.err != nil {
		h.mu.Lock()
		h.forget(k) // the next try opens it again
		h.mu.Unlock()
		return nil, k.err
	}
	return k, nil
}

func (h *handles) give(k *handle) {
	h.mu.Lock()
	k.users--
	gone := k.users == 0 && h.known[k.shard] != k
	h.mu.Unlock()
	if gone {
		k.close()
	}
}

// surplus takes out those that were not used for longest, where there are too many.
func (h *handles) surplus() (all []*handle) {
	for e := h.used.Back(); e != nil && len(h.known) > h.most; {
		k := e.Value.(*handle)
		e = e.Prev()
		if k.users == 0 {
			h.forget(k)
			all = append(all, k)
		}
	}
	return all
}

func (h *handles) forget(k *handle) {
	if h.known[k.shard] == k {
		delete(h.known, k.shard)
		h.used.Remove(k.place)
	}
}

// drop closes all that are not in use, and the others when they are given back.
func (h *handles) drop() {
	h.mu.Lock()
	var all []*handle
	for _, k := range h.known {
		h.forget(k)
		if k.users == 0 {
			all = append(all, k)
		}
	}
	h.mu.Unlock()
	for _, k := range all {
		k.close()
	}
}

func (k *handle) close() {
	if k.file != nil {
		k.file.Close()
	}
}
