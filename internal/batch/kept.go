package batch

import (
	"sync"

	"github.com/headrace/headrace/internal/byref"
)

// kept are the objects of the program that a batch has numbers of. Workers write
// different rows at once.
type kept struct {
	mu  sync.Mutex
	all byref.List
}

func (k *kept) add(more byref.List) {
	if len(more) == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all = append(k.all, more...)
}

func (k *kept) share() byref.List {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.all.Share()
}

func (k *kept) take() (all byref.List) {
	k.mu.Lock()
	defer k.mu.Unlock()
	all, k.all = k.all, nil
	return all
}

// sent are the objects in batches that the consumer has and has not given back: only it
// knows when it has taken them out.
type sent struct {
	mu sync.Mutex
	by map[[2]uint32]byref.List // by segment and slot
}

func (s *sent) add(b *Batch) {
	all := b.kept.take()
	if len(all) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil {
		s.by = map[[2]uint32]byref.List{}
	}
	s.by[[2]uint32{b.slot.Segment(), b.slot.Index()}] = all
}

// Forget lets go of the objects in a batch that was sent, before its memory is given
// back.
func (s *Slots) Forget(segment, slot uint32) {
	name := [2]uint32{segment, slot}
	s.sent.mu.Lock()
	all := s.sent.by[name]
	delete(s.sent.by, name)
	s.sent.mu.Unlock()
	all.Leave()
}
