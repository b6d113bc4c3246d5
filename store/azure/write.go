package azure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/steady"
)

// write is a request that changes something.
type write struct {
	method  string
	header  http.Header
	content io.ReaderAt // nil: no body
	size    int64
}

// prepare makes the write of a read's request.
func (w *write) prepare(r *http.Request) {
	if w == nil {
		return
	}
	r.Method = w.method
	for name, values := range w.header {
		r.Header[name] = values
	}
	if w.content == nil {
		return
	}
	r.Body, r.ContentLength = steady.Body(w.content, 0, w.size), w.size
	r.Header.Set("Content-Type", "application/octet-stream")
	if w.size > 0 { // for the signature alone: it is sent in any case
		r.Header.Set("Content-Length", strconv.FormatInt(w.size, 10))
	}
}

// mostBytes are those of a blob that is written by one request.
const mostBytes = 5000 << 20

// Put implements [store.Writer]. The service makes a blob of a whole request only.
func (s *Store) Put(ctx context.Context, name string, content io.ReaderAt, size int64, c store.Condition) (store.Object, error) {
	set, b, err := s.blob(name)
	if err == nil && size > mostBytes {
		err = fmt.Errorf("azure: a blob of %d bytes: at most %d can be written: write smaller files", size, int64(mostBytes))
	}
	if err != nil {
		return store.Object{}, err
	}
	w := &write{http.MethodPut, http.Header{"X-Ms-Blob-Type": {"BlockBlob"}}, content, size}
	switch tag := steady.VersionTag(c.Version); {
	case c.Absent:
		w.header.Set("If-None-Match", "*")
	case c.Version != "" && tag == "": // of blobs without bytes, only listings tell the ETag
		if tag, err = s.tagOfEmpty(ctx, set, b, c); err != nil {
			return store.Object{}, err
		}
		w.header.Set("If-Match", tag)
	case tag != "":
		w.header.Set("If-Match", tag)
	}

	var tag string
	var inDoubt bool
	err = s.do(ctx, set, b, nil, w, func(a steady.Ask) error {
		header, _, unsure, err := s.client.Send(ctx, a)
		tag, inDoubt = header.Get("ETag"), inDoubt || unsure
		return err
	})
	switch {
	case err == nil:
		return store.Told(ctx, s, store.Object{Name: name, Size: size, Version: steady.TagVersion(tag, size)}, content)
	case !refusesCondition(err, c):
		return store.Object{}, err
	case inDoubt: // the blob that is there may be this one
		if o, same := store.Holds(ctx, s, name, content, size); same {
			return o, nil
		}
	}
	return store.Object{}, fmt.Errorf("%w: %q (%v)", store.ErrConflict, name, err)
}

// refusesCondition tells whether a write was refused as its condition does not hold.
func refusesCondition(err error, c store.Condition) bool {
	var r *steady.Refusal
	if !errors.As(err, &r) || c == (store.Condition{}) {
		return false
	}
	switch code := r.Header.Get("X-Ms-Error-Code"); r.Status {
	case http.StatusPreconditionFailed:
		return code == "" || code == "ConditionNotMet" // and not a lease
	case http.StatusConflict:
		return c.Absent && code == "BlobAlreadyExists"
	case http.StatusNotFound:
		return c.Version != "" && code == "BlobNotFound"
	}
	return false
}

func (s *Store) tagOfEmpty(ctx context.Context, set *settings, b blob, c store.Condition) (string, error) {
	query := url.Values{"restype": {"container"}, "comp": {"list"}, "prefix": {b.name}}
	in := b
	in.name = ""
	p, err := s.page(ctx, set, in, query)
	if err != nil {
		return "", err
	}
	if all := p.Blobs.Blob; len(all) > 0 && all[0].Name.Text == b.name && all[0].Properties.Size == 0 {
		return `"` + all[0].Properties.Etag + `"`, nil
	}
	return "", c.Check(store.Object{Version: "another"}, nil)
}

// Remove implements [store.Writer].
func (s *Store) Remove(ctx context.Context, name string) error {
	set, b, err := s.blob(name)
	if err != nil {
		return err
	}
	var inDoubt bool
	err = s.do(ctx, set, b, nil, &write{method: http.MethodDelete}, func(a steady.Ask) error {
		_, _, unsure, err := s.client.Send(ctx, a)
		inDoubt = inDoubt || unsure
		return err
	})
	if inDoubt && errors.Is(err, fs.ErrNotExist) {
		return nil // by an earlier try, whose answer was lost
	}
	return err
}

var _ store.Writer = (*Store)(nil)
