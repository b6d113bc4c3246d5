package steady

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/store"
)

// answer is an answer whose body may be read. To close it ends its request.
type answer struct {
	*http.Response
	ctx    context.Context
	cancel context.CancelCauseFunc
	host   *host
}

func (a *answer) close() {
	a.Body.Close()
	a.cancel(nil)
}

var errStalled = errors.New("no byte came for 10 s")

// fill reads as much of p as comes. Bytes that stop coming are an error.
func (a *answer) fill(p []byte) (n int, err error) {
	stalled := time.AfterFunc(toNextByte, func() { a.cancel(errStalled) })
	defer stalled.Stop()
	for n < len(p) && err == nil {
		var m int
		m, err = a.Body.Read(p[n:])
		n += m
		stalled.Reset(toNextByte)
		a.host.silence.moves()
	}
	switch {
	case n == len(p):
		return n, nil
	case err == io.EOF:
		err = io.ErrUnexpectedEOF
	case context.Cause(a.ctx) == errStalled:
		err = errStalled
	}
	return n, err
}

// skip reads bytes that were not asked for.
func (a *answer) skip(n int64) error {
	var room [8 << 10]byte
	for n > 0 {
		m, err := a.fill(room[:min(n, int64(len(room)))])
		if n -= int64(m); err != nil {
			return err
		}
	}
	return nil
}

// sentTwice has the outcome of a request's second sending, if that has won.
type sentTwice struct {
	a   *answer
	err error
}

// send sends a request, and once more if the answer is late, and returns the answer that
// comes first. A refusal is an answer, too, such as a redirect of the Hub.
func (c *Client) send(ctx context.Context, h *host, ask Ask, header http.Header) (*answer, error) {
	one, cancel := context.WithCancelCause(ctx)
	after, may := h.hedge()
	if !may {
		return c.try(one, cancel, h, ask, header)
	}

	var winner atomic.Int32
	other := make(chan *sentTwice, 1) // nil: it has not won
	late := time.AfterFunc(after, func() {
		if !h.mayHedge() {
			other <- nil
			return
		}
		two, cancelTwo := context.WithCancelCause(ctx)
		a, err := c.try(two, cancelTwo, h, ask, header)
		switch {
		case blames(err):
			other <- nil
		case winner.CompareAndSwap(0, 2):
			cancel(nil)
			h.count(func(c *store.Counts) { c.Won++ })
			other <- &sentTwice{a, err}
		case err == nil:
			a.close()
		}
	})

	a, err := c.try(one, cancel, h, ask, header)
	if late.Stop() || !blames(err) && winner.CompareAndSwap(0, 1) {
		return a, err
	}
	// The other one has won, or may still do so.
	if won := <-other; won != nil {
		if err == nil {
			a.close()
		}
		return won.a, won.err
	}
	return a, err
}

// mostRefusal is how much of an answer is read that has no object.
const mostRefusal = 64 << 10

// try sends a request once.
func (c *Client) try(ctx context.Context, cancel context.CancelCauseFunc, h *host, ask Ask, header http.Header) (*answer, error) {
	req, err := ask.Request(ctx, header)
	if err != nil {
		cancel(nil)
		return nil, &final{err}
	}
	var sent *sent
	if req.Body != nil && req.Body != http.NoBody {
		sent = newSent(req.Body, cancel, &h.silence)
		req.Body = sent
		if req.ContentLength > mostUnasked {
			req.Header.Set("Expect", "100-continue")
		}
	}
	begun := time.Now()
	resp, err := c.http.Do(req)
	if err != nil {
		if err := sent.unreadable(); err != nil {
			cancel(nil)
			return nil, &final{err}
		}
		if context.Cause(ctx) == errStalled {
			return nil, errStalled
		}
		cancel(nil)
		return nil, h.meant(err)
	}
	if sent == nil { // the time that a body takes says nothing of how soon reads are answered
		h.answered(time.Since(begun))
	}
	a := &answer{resp, ctx, cancel, h}
	isWritten := req.Method != http.MethodGet && resp.StatusCode/100 == 2
	if !isOfGateway(resp.StatusCode) {
		h.hear()
	}
	if resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusPartialContent || isWritten {
		return a, nil
	}

	defer a.close()
	body := make([]byte, mostRefusal)
	n, _ := a.fill(body) // a refusal without its reason is one, too
	return nil, &Refusal{Host: h.name, Status: resp.StatusCode, Header: resp.Header, Body: body[:n]}
}
