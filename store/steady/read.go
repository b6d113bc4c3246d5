package steady

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/headrace/headrace/store"
)

// Fill reads bytes of an object, all of them of its version, as ReadAt of [store.Store].
func (c *Client) Fill(ctx context.Context, o store.Object, p []byte, at int64, ask Ask) error {
	switch {
	case at < 0 || at > o.Size-int64(len(p)):
		// It may have become longer, and be another one.
		now, err := c.Stat(ctx, o.Name, ask)
		switch {
		case err != nil:
			return err
		case now != o:
			return fmt.Errorf("%w: it had %d bytes, version %s, and has %d, version %s",
				store.ErrChanged, o.Size, o.Version, now.Size, now.Version)
		}
		return io.ErrUnexpectedEOF
	case len(p) == 0:
		return ctx.Err()
	}

	h := c.host(ask.Host)
	h.count(func(c *store.Counts) { c.Wanted += int64(len(p)) })
	for t := h.tries(); ; {
		n, err := c.part(ctx, h, o, p, at, ask)
		if p, at = p[n:], at+int64(n); len(p) == 0 {
			return nil
		}
		if n > 0 {
			t.progress()
		}
		if err == nil {
			continue // a server may send less than it was asked for
		}
		if err := t.again(ctx, err); err != nil {
			return changed(o, err)
		}
	}
}

// part reads as many of the bytes as come of one request.
func (c *Client) part(ctx context.Context, h *host, o store.Object, p []byte, at int64, ask Ask) (n int, err error) {
	header := http.Header{"Range": {fmt.Sprintf("bytes=%d-%d", at, at+int64(len(p))-1)}}
	if ask.Version == nil {
		pin(header, o.Version)
	}
	err = c.request(ctx, h, ask, header, func(a *answer) error {
		s, err := spanOf(a.Response, o, ask.version, at, len(p))
		if err != nil {
			return fmt.Errorf("%s: %w", h.name, err)
		}
		if err := a.skip(s.before); err != nil {
			return err
		}
		n, err = a.fill(p[:s.n])
		h.count(func(c *store.Counts) { c.Fetched += s.before + int64(n) })
		return err
	})
	return n, err
}

// request sends a request when it is its turn, and has the answer read, as part of it.
func (c *Client) request(ctx context.Context, h *host, ask Ask, header http.Header, read func(*answer) error) (err error) {
	if err := h.enter(ctx); err != nil {
		return err
	}
	sent := time.Now()
	defer func() { h.leave(ctx, sent, err) }()
	a, err := c.send(ctx, h, ask, header)
	if err != nil {
		return err
	}
	defer a.close()
	return read(a)
}

// changed is the error of an object that does not have its version, or its length, any
// more.
func changed(o store.Object, err error) error {
	var r *Refusal
	if errors.As(err, &r) && (r.Status == http.StatusPreconditionFailed || r.Status == http.StatusRequestedRangeNotSatisfiable) {
		return fmt.Errorf("%w: it had %d bytes, version %s (%v)", store.ErrChanged, o.Size, o.Version, r)
	}
	return err
}

// Stat asks for the first byte of an object, which tells its size and version, and
// whether its host knows ranges. HEAD is not allowed everywhere, nor by signed URLs.
func (c *Client) Stat(ctx context.Context, name string, ask Ask) (store.Object, error) {
	o, _, err := c.Begin(ctx, name, nil, ask)
	return o, err
}

// Begin is Stat, and reads the bytes at the beginning of the object, as Begin of
// [store.Beginning]. If the answer breaks off, those that have come are returned.
func (c *Client) Begin(ctx context.Context, name string, first []byte, ask Ask) (store.Object, int, error) {
	h := c.host(ask.Host)
	for t := h.tries(); ; {
		o, n, err := c.begin(ctx, h, first, ask)
		if o.Name = name; err == nil || n > 0 && ctx.Err() == nil {
			return o, n, nil
		}
		if err := t.again(ctx, err); err != nil {
			return store.Object{}, 0, err
		}
	}
}

func (c *Client) begin(ctx context.Context, h *host, first []byte, ask Ask) (o store.Object, n int, err error) {
	last := max(len(first), 1) - 1
	err = c.request(ctx, h, ask, http.Header{"Range": {fmt.Sprintf("bytes=0-%d", last)}}, func(a *answer) (err error) {
		if o.Size, err = sizeOf(a.Response); err == nil && o.Size < 0 {
			err = &final{errors.New("the answer does not say how long it is")}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", h.name, err)
		}
		o.Version = ask.version(a.Header, o.Size)
		if want := int(min(int64(len(first)), o.Size)); want > 0 {
			n, err = c.first(h, a, o, ask, first[:want])
			return err
		}
		if a.ContentLength >= 0 && a.ContentLength < mostRefusal {
			a.skip(a.ContentLength) // so that the connection can be used again
		}
		return nil
	})
	var r *Refusal
	switch {
	case !errors.As(err, &r) || r.Status != http.StatusRequestedRangeNotSatisfiable:
		return o, n, err
	case last > 0 && r.Header.Get("Content-Range") != "bytes */0":
		return c.begin(ctx, h, nil, ask) // some hosts refuse ranges that end beyond the object
	}
	return store.Object{Version: empty}, 0, nil // it has no first byte
}

// first reads the bytes at the beginning of an object from the answer that told of it.
func (c *Client) first(h *host, a *answer, o store.Object, ask Ask, p []byte) (n int, err error) {
	h.count(func(c *store.Counts) { c.Wanted += int64(len(p)) })
	s, err := spanOf(a.Response, o, ask.version, 0, len(p))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", h.name, err)
	}
	n, err = a.fill(p[:s.n])
	h.count(func(c *store.Counts) { c.Fetched += int64(n) })
	return n, err
}

// mostPage is the most bytes of an answer that is read whole.
const mostPage = 64 << 20

// Page reads an answer that is no object, such as a listing, whole.
func (c *Client) Page(ctx context.Context, ask Ask) (http.Header, []byte, error) {
	h := c.host(ask.Host)
	for t := h.tries(); ; {
		header, body, err := c.page(ctx, h, ask)
		if err == nil {
			return header, body, nil
		}
		if err := t.again(ctx, err); err != nil {
			return nil, nil, err
		}
	}
}

func (c *Client) page(ctx context.Context, h *host, ask Ask) (header http.Header, body []byte, err error) {
	err = c.request(ctx, h, ask, http.Header{}, func(a *answer) error {
		header = a.Header
		body, err = a.all(h)
		return err
	})
	return header, body, err
}

// all reads the whole body.
func (a *answer) all(h *host) (body []byte, err error) {
	for size := 64 << 10; ; size *= 2 {
		more := make([]byte, size)
		n, err := a.fill(more)
		body = append(body, more[:n]...)
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF) && (a.ContentLength < 0 || a.ContentLength == int64(len(body))):
			return body, nil
		case err != nil:
			return nil, err
		case len(body) > mostPage:
			return nil, &final{fmt.Errorf("%s: an answer of more than %d bytes", h.name, mostPage)}
		}
	}
}
