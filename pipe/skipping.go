package pipe

import (
	"context"
	"sync"
)

// Skipping ends an epoch of a source early, when nobody needs the rest of it.
type skipping struct {
	mu     sync.Mutex
	to     int // epochs before this one are not needed, counted from 0
	at     int // the one that is being read
	cancel context.CancelFunc
}

// begin begins an epoch, which is over when the context ends.
func (s *skipping) begin(ctx context.Context, epoch int) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, s.cancel = context.WithCancel(ctx)
	s.at = epoch
	s.check()
	return ctx
}

func (s *skipping) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel()
	s.cancel = nil
}

// skipTo tells a source which epoch is needed next.
func (s *stage) skipTo(epoch int) {
	s.skip.mu.Lock()
	defer s.skip.mu.Unlock()
	s.skip.to = max(s.skip.to, epoch)
	s.skip.check()
}

func (s *skipping) check() {
	if s.cancel != nil && s.to > s.at {
		s.cancel()
	}
}

// cutShort tells whether the rest of an epoch is not needed of a stage, because that was told to a source above it.
func (s *stage) cutShort(epoch int) bool {
	s.skip.mu.Lock()
	cut := s.skip.to > epoch
	s.skip.mu.Unlock()
	for _, u := range s.up {
		cut = cut || u.cutShort(epoch)
	}
	return cut
}
