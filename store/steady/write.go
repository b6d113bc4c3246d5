package steady

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// Send sends a request that changes something, and returns the answer. It is tried again
// as reads are, though never sent twice at once. inDoubt reports whether an earlier try
// may have been carried out, although no answer said so: the answer to the last one may
// then be about the change that it has made.
func (c *Client) Send(ctx context.Context, ask Ask) (header http.Header, body []byte, inDoubt bool, err error) {
	h := c.host(ask.Host)
	for t := h.tries(); ; {
		header, body, err = c.sendOnce(ctx, h, ask)
		if err == nil {
			return header, body, inDoubt, nil
		}
		if err := t.again(ctx, err); err != nil {
			return nil, nil, inDoubt, err
		}
		_, isBusy := asksForTime(err)
		inDoubt = inDoubt || !isBusy
	}
}

func (c *Client) sendOnce(ctx context.Context, h *host, ask Ask) (header http.Header, body []byte, err error) {
	if err := h.enter(ctx); err != nil {
		return nil, nil, err
	}
	begun := time.Now()
	defer func() { h.leave(ctx, begun, err) }()
	one, cancel := context.WithCancelCause(ctx)
	a, err := c.try(one, cancel, h, ask, http.Header{})
	if err != nil {
		return nil, nil, err
	}
	defer a.close()
	body, err = a.all(h)
	if err == nil && ask.Status != nil {
		if status := ask.Status(body); status/100 != 2 {
			err = &Refusal{Host: h.name, Status: status, Header: a.Header, Body: body}
		}
	}
	return a.Header, body, err
}

// mostUnasked is the size of a body that is sent before the host has asked for it. One
// that refuses a larger one closes the connection in the middle of it, often without its
// answer being read.
const mostUnasked = 1 << 20

// toTakeByte is the time in which a host takes some bytes of a body.
const toTakeByte = 30 * time.Second

// sent is the body of a request, which ends the request if the host takes none of it, and
// remembers why it could not be read.
type sent struct {
	io.ReadCloser
	stalled *time.Timer
	host    *silence

	mu  sync.Mutex
	err error
}

func newSent(body io.ReadCloser, cancel context.CancelCauseFunc, host *silence) *sent {
	return &sent{ReadCloser: body, host: host, stalled: time.AfterFunc(toTakeByte, func() { cancel(errStalled) })}
}

// Read implements [io.Reader].
func (s *sent) Read(p []byte) (int, error) {
	s.stalled.Stop() // the host waits for the disk meanwhile
	s.host.moves()
	n, err := s.ReadCloser.Read(p)
	if err == nil {
		s.stalled.Reset(toTakeByte)
	} else if err != io.EOF { // what follows the end is the time to the first byte
		s.mu.Lock()
		defer s.mu.Unlock()
		s.err = err
	}
	return n, err
}

// Close implements [io.Closer].
func (s *sent) Close() error {
	s.stalled.Stop()
	return s.ReadCloser.Close()
}

// unreadable returns the error of reading the body, if there was one.
func (s *sent) unreadable() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Body is content as the body of a request.
func Body(content io.ReaderAt, at, size int64) io.ReadCloser {
	if size == 0 {
		return http.NoBody
	}
	return io.NopCloser(&whole{io.NewSectionReader(content, at, size), size})
}

// whole is a body that must not end early: servers would wait for the rest.
type whole struct {
	io.Reader
	left int64
}

// Read implements [io.Reader].
func (w *whole) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	w.left -= int64(n)
	if err == io.EOF && w.left > 0 {
		err = errors.New("steady: what is written has become shorter")
	}
	return n, err
}
