package steady

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	mostTries   = 10              // without a byte, of one read, while the host answers others
	mostRefused = 30              // of one read, while the host asks for time
	strangers   = 4               // of a host that has never answered
	mostSilent  = 2 * time.Minute // without an answer to anything, beside the time that it asks for

	firstPause   = 100 * time.Millisecond
	longestPause = 10 * time.Second
	longestProbe = 2 * time.Second  // of a read, while the host answers nobody
	longestAsked = 10 * time.Minute // by the host
)

// jitter is a random time up to a bound that doubles.
func jitter(n int) time.Duration {
	return rand.N(min(firstPause<<min(n, 10), longestPause)) + time.Millisecond
}

// tries counts the requests of one read.
type tries struct {
	h       *host
	begun   time.Time
	n       int           // since a byte came
	all     int           // for messages
	failed  time.Time     // the last one; zero: none has
	allowed time.Duration // that the host has asked for
}

func (h *host) tries() *tries { return &tries{h: h, begun: time.Now()} }

// again waits until a request that has failed may be sent again. If it may not, it
// returns the error.
func (t *tries) again(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if !blames(err) {
		return err
	}

	t.all++
	last, known := t.h.known()
	silent := min(time.Since(t.begun), time.Since(last)) - t.allowed
	asked, busy := asksForTime(err)
	switch {
	case asked > longestAsked:
		err = fmt.Errorf("%w: it asks for %v of pause", err, asked)
	case silent >= mostSilent:
	case busy && t.all < mostRefused:
		// The host's own pause is the wait, for all requests alike.
		t.allowed += asked
		return t.h.retry(ctx, 0)
	case busy:
	case known && !t.h.heard().After(t.failed):
		// It answers nobody: this read is not to blame, and goes on when the host does.
		t.failed = time.Now()
		return t.h.retry(ctx, min(jitter(t.all-1), rand.N(longestProbe)))
	default:
		t.failed = time.Now()
		t.n++
		most := mostTries
		if !known {
			most = strangers
		}
		if t.n < most {
			return t.h.retry(ctx, jitter(t.n-1))
		}
	}
	var r *Refusal
	if errors.As(err, &r) && t.all == 1 {
		return err
	}
	return &Unreachable{t.h.name, t.all, time.Since(t.begun), err}
}

// progress says that bytes have come.
func (t *tries) progress() { t.n = 0 }
