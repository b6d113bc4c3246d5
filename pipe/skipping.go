package pipe

import (
	"context"
	"sync"
)

// Skipping ends an epoch early, when nobody needs the rest of it. Of a source, the
// reading ends.
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

// skipTo tells a stage, and all that it has its items from, which epoch is needed next.
func (s *stage) skipTo(epoch int) {
	s.skip.mu.Lock()
	told := s.skip.to >= epoch
	s.skip.to = max(s.skip.to, epoch)
	s.skip.check()
	s.skip.mu.Unlock()

	if !told {
		for _, u := range s.up {
			u.skipTo(epoch)
		}
	}
}

func (s *skipping) check() {
	if s.cancel != nil && s.to > s.at {
		s.cancel()
	}
}

// cutShort tells whether nobody below needs any more of an epoch from a stage. What it
// makes of the epoch's rest, of which its sources may leave out some, is disposed of.
func (s *stage) cutShort(epoch int) bool {
	s.skip.mu.Lock()
	defer s.skip.mu.Unlock()
	return s.skip.to > epoch
}
