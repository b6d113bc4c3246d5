package queue

import (
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// Who is about to sleep until a message comes does not miss one that comes at that very
// moment. The message is put without a lock, so that the moment is a few instructions
// long: here it is tried for at every distance.
func TestNobodySleepsOverAMessage(t *testing.T) {
	const rounds = 100_000
	r, s := newTestRing(2)
	taker, maker := s.NewWorker(), s.NewWorker()
	var asked atomic.Int64
	done := make(chan struct{})
	go func() {
		random := rand.New(rand.NewPCG(1, 2))
		for round := int64(1); round <= rounds; round++ {
			for asked.Load() < round {
				runtime.Gosched()
			}
			for n := random.IntN(300); n > 0; n-- {
				asked.Load()
			}
			if !r.Reserve(maker) {
				return
			}
			r.Put(&Message[int]{Kind: Item}, 0)
		}
	}()
	go func() {
		defer close(done)
		var buf [1]Message[int]
		for round := int64(1); round <= rounds; round++ {
			asked.Store(round)
			for len(r.TryTake(taker, buf[:]).Msgs) == 0 {
				if !r.Wait(taker, 0) {
					return
				}
			}
		}
	}()
	for before := int64(-1); ; { // a machine may be as slow as it likes: who sleeps does so for ever
		select {
		case <-done:
			return
		case <-time.After(20 * time.Second):
		}
		round := asked.Load()
		if round == before {
			t.Errorf("it sleeps in round %d, and there is a message", round)
			r.Abort()
			<-done
			return
		}
		before = round
	}
}
