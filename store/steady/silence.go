package steady

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/store"
)

const (
	isSilent = 5 * time.Second // without an answer, though it was asked: this is said
	sayAgain = 30 * time.Second
	isOutage = 2 * time.Second // without an answer, while requests fail: what waits need not wait on when it ends
)

// silence is the time in which a host sends nothing.
type silence struct {
	asked time.Time    // when it was first asked since its last answer; zero: it was not
	moved atomic.Int64 // when bytes of a body last came or went, in Unix nanoseconds
	why   string       // the last failure since
	heard time.Time    // the beginning of the last answer
	said  time.Duration
	timer *time.Timer   // nil: nobody looks
	over  chan struct{} // closed when it ends, for the requests that wait to be sent again
}

// moves notes that bytes of a body have come, or gone.
func (s *silence) moves() { s.moved.Store(time.Now().UnixNano()) }

// ask notes that a request is sent.
func (h *host) ask() {
	s := &h.silence
	if s.asked.IsZero() {
		s.asked = time.Now()
	}
	if s.timer == nil {
		s.timer = time.AfterFunc(isSilent, h.look)
	}
}

func (h *host) isAsked() bool { return h.within+len(h.queue)+h.waiting > 0 }

// silent returns the time for which the host has sent nothing, while a read waits for it.
func (h *host) silent() time.Duration {
	if h.silence.asked.IsZero() || !h.isAsked() {
		return 0
	}
	return min(time.Since(h.silence.asked), time.Since(time.Unix(0, h.silence.moved.Load())))
}

// look says if the host is silent, and looks again later if it is asked for anything.
func (h *host) look() {
	h.mu.Lock()
	s := &h.silence
	lasts, why := h.silent(), s.why
	if h.isAsked() {
		s.timer.Reset(isSilent)
	} else {
		s.timer = nil
	}
	says := lasts >= isSilent && (s.said == 0 || lasts >= s.said+sayAgain)
	if says {
		s.said = lasts
	}
	h.mu.Unlock()
	if says {
		store.Say(store.Silence{Host: h.name, For: lasts, Error: why})
	}
}

// isOfGateway tells whether an answer may be one of a gateway, behind which the host does
// not answer.
func isOfGateway(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// heard returns the time at which the last answer began.
func (h *host) heard() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.silence.heard
}

// hear notes that an answer has begun. After an outage, what waits to be sent again is
// sent at once, as far as there are places: it has waited long enough.
func (h *host) hear() {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := &h.silence
	lasted := h.silent()
	if s.why != "" && lasted >= isOutage {
		h.retries.left = max(h.retries.left, 0)
		close(s.over)
		s.over = make(chan struct{})
	}
	if s.said > 0 {
		said := store.Silence{Host: h.name, For: lasted, Ended: true}
		go store.Say(said)
	}
	s.asked, s.why, s.said, s.heard = time.Time{}, "", 0, time.Now()
	if h.within > 1 { // others were asked before
		s.asked = time.Now()
	}
}
