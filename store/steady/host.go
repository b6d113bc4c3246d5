package steady

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/headrace/headrace/store"
)

const (
	atFirst    = 16 // requests at once
	mostAtOnce = store.MostAtOnce
	rise       = 0.1 // of a request more, with each answer

	retryShare   = 0.1 // retries for each request that succeeds
	retryTrickle = 5   // retries a second, if none succeed
	retryBurst   = mostAtOnce

	hedgeShare  = 0.03
	hedgeBurst  = 10
	hedgeSooner = 200 * time.Millisecond // than this is no hedge sent
	hedgeBeyond = 1.5                    // times the first bytes of all but one of 20
	hedgeKnows  = 20                     // requests, after which this is known
	hedgeLate   = 5 * time.Second        // is late for any host that has answered
)

// host paces the requests to one host.
type host struct {
	name string

	mu     sync.Mutex // guards what is below
	counts store.Counts

	pace   pace
	within int             // requests that are sent, or whose body is read
	queue  []chan struct{} // of those that wait for their turn
	alarm  *time.Timer     // rings when a pause ends; nil: none is set
	streak int             // pauses since the last answer
	last   time.Time       // of an answer; zero: there was none

	silence silence
	waiting int // requests that wait to be sent again

	retries budget
	hedges  budget
	slow    time.Duration // to the first bytes of all but one of 20
}

func newHost(name string) *host {
	return &host{name: name, pace: newPace(name), silence: silence{over: make(chan struct{})},
		retries: budget{left: retryBurst, most: retryBurst}, hedges: budget{left: hedgeBurst, most: hedgeBurst}}
}

// enter waits for a place among the requests that are sent at once. Places are given in
// the order in which they were asked for.
func (h *host) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err // without a place, which nobody would give back
	}
	h.mu.Lock()
	if len(h.queue) == 0 && h.open() {
		h.come(1)
		h.mu.Unlock()
		return nil
	}
	turn, since := make(chan struct{}), time.Now()
	h.queue = append(h.queue, turn)
	h.wake()
	h.mu.Unlock()

	select {
	case <-turn:
	case <-ctx.Done():
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.counts.Waited += time.Since(since)
	if at := slices.Index(h.queue, turn); at >= 0 {
		h.queue = slices.Delete(h.queue, at, at+1)
		return ctx.Err()
	}
	return nil
}

func (h *host) open() bool {
	share, _ := h.pace.share()
	return h.within < share && h.pace.paused() == 0
}

// come counts requests that come, or go.
func (h *host) come(n int) {
	h.within += n
	h.pace.has(h.within)
	if n > 0 {
		h.ask()
	}
}

// admit lets those in that wait, as far as there are places.
func (h *host) admit() {
	for len(h.queue) > 0 && h.open() {
		h.come(1)
		close(h.queue[0])
		h.queue = slices.Delete(h.queue, 0, 1)
	}
	h.wake()
}

// wake has those that wait let in when a pause ends, which may be one that another
// process was told of. While there are requests, these do so when they end.
func (h *host) wake() {
	left := h.pace.paused()
	if len(h.queue) == 0 || h.alarm != nil || left == 0 && h.within > 0 {
		return
	}
	h.alarm = time.AfterFunc(left, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.alarm = nil
		h.admit()
	})
}

// leave gives the place of a request back, which was sent at a time and failed or not.
func (h *host) leave(ctx context.Context, sent time.Time, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.counts.Requests++
	h.counts.Took += time.Since(sent)
	share, _ := h.pace.share()
	isFull := h.within >= share
	h.come(-1)
	defer h.admit()
	if ctx.Err() != nil {
		return // which says nothing of the host
	}

	wait, busy := asksForTime(err)
	var never *Unreachable
	switch {
	case errors.As(err, &never): // it has no name, or no certificate: nothing has answered
		h.counts.Failed++
		return
	case !blames(err):
		h.last, h.streak = time.Now(), 0
		h.retries.earn(retryShare)
		h.hedges.earn(hedgeShare)
		// More than are sent at once cannot be said to work. A tenth more with each round
		// trip goes a little too far, and comes back soon after a storm.
		if isFull {
			h.pace.rise()
		}
		return
	case busy:
		h.counts.Throttled++
		h.pause(wait)
	default:
		h.counts.Failed++
	}
	h.silence.why = err.Error()
	h.pace.halve(sent)
}

func (h *host) count(f func(*store.Counts)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f(&h.counts)
}

// known tells whether the host has ever answered, and when it did last.
func (h *host) known() (last time.Time, ever bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last, !h.last.IsZero()
}

// pause sends nothing for the time that the host asks for, or one that doubles.
func (h *host) pause(wait time.Duration) {
	if wait == 0 {
		if h.pace.paused() > 0 {
			return // others were told the same
		}
		wait = jitter(h.streak)
		h.streak++
	}
	h.pace.pause(wait)
}

// retry waits until the host may be sent one request more than it was, and until a time
// has passed, or an outage has ended.
func (h *host) retry(ctx context.Context, wait time.Duration) error {
	h.mu.Lock()
	h.counts.Retries++
	_, processes := h.pace.share()
	wait = max(wait, h.retries.take(retryTrickle/float64(processes)))
	over := h.silence.over
	h.waiting++
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.waiting--
	}()
	select {
	case <-time.After(wait):
		return nil
	case <-over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// answered records when an answer began. After a while of that, hedge says when a request
// is so late that another one may be sent.
func (h *host) answered(after time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.counts.Answers++
	// It rises by 19 steps if a request was slower, and falls by one if not: it comes to
	// rest where that is so of one in 20.
	switch step := h.slow / 200; {
	case h.slow == 0:
		h.slow = after
	case after > h.slow:
		h.slow = min(h.slow+19*step+1, after)
	default:
		h.slow = max(h.slow-step, after)
	}
}

func (h *host) hedge() (after time.Duration, may bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	calm := h.streak == 0 && h.counts.Answers > 0
	if h.counts.Answers < hedgeKnows {
		return hedgeLate, calm
	}
	return max(hedgeSooner, time.Duration(hedgeBeyond*float64(h.slow))), calm
}

// mayHedge takes a hedge from the budget.
func (h *host) mayHedge() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hedges.left < 1 || h.streak > 0 {
		return false
	}
	h.hedges.left--
	h.counts.Hedges++
	return true
}

// budget is an allowance that requests earn.
type budget struct {
	left, most float64
	since      time.Time
}

func (b *budget) earn(n float64) { b.left = min(b.left+n, b.most) }

// take takes one, and returns how long to wait for it if there was none; so many come by
// themselves in a second.
func (b *budget) take(trickle float64) (wait time.Duration) {
	now := time.Now()
	if !b.since.IsZero() {
		b.earn(trickle * now.Sub(b.since).Seconds())
	}
	b.since = now
	b.left--
	if b.left >= 0 {
		return 0
	}
	return time.Duration(-b.left / trickle * float64(time.Second))
}
