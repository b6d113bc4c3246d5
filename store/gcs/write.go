package gcs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/steady"
)

// write is a request that changes something.
type write struct {
	method  string
	content io.ReaderAt // nil: no body
	size    int64
}

// prepare makes the write of a read's request.
func (w *write) prepare(r *http.Request) {
	if w == nil {
		return
	}
	r.Method = w.method
	r.Header.Del("Accept-Encoding")
	if w.content != nil {
		r.Header.Set("Content-Type", "application/octet-stream")
		r.Body, r.ContentLength = steady.Body(w.content, 0, w.size), w.size
	}
}

// info has the fields of an object.
type info struct {
	Generation string
	Size       int64 `json:",string"`
}

const fields = "generation,size"

// Put implements [store.Writer]. The service makes an object of a whole request only.
func (s *Store) Put(ctx context.Context, name string, content io.ReaderAt, size int64, c store.Condition) (store.Object, error) {
	bucket, object, err := split(name)
	if err != nil {
		return store.Object{}, err
	}
	query := url.Values{"uploadType": {"media"}, "name": {object}, "fields": {fields}}
	switch {
	case c.Absent:
		query.Set("ifGenerationMatch", "0")
	case c.Version != "":
		generation := c.Version
		if steady.VersionTag(c.Version) == "" { // of objects without bytes, reads tell no generation
			if generation, err = s.generationOfEmpty(ctx, bucket, object); err != nil {
				return store.Object{}, c.Check(store.Object{}, err)
			}
		}
		query.Set("ifGenerationMatch", generation)
	}

	var now info
	var inDoubt bool
	t := target{bucket, object, "/upload/storage/v1/b/" + url.PathEscape(bucket) + "/o", query}
	err = s.do(ctx, t, &write{http.MethodPost, content, size}, func(a steady.Ask) error {
		_, body, unsure, err := s.client.Send(ctx, a)
		inDoubt = inDoubt || unsure
		if err == nil {
			err = json.Unmarshal(body, &now)
		}
		return err
	})
	var r *steady.Refusal
	switch isRefused := errors.As(err, &r) && r.Status == http.StatusPreconditionFailed; {
	case err == nil && now.Size != size:
		return store.Object{}, fmt.Errorf("gcs: %d bytes were written, and %d have come", size, now.Size)
	case err == nil:
		return store.Told(ctx, s, store.Object{Name: name, Size: size, Version: steady.TagVersion(now.Generation, size)}, content)
	case !isRefused:
		return store.Object{}, err
	case inDoubt: // the object that is there may be this one
		if o, same := store.Holds(ctx, s, name, content, size); same {
			return o, nil
		}
	}
	return store.Object{}, fmt.Errorf("%w: %q (%v)", store.ErrConflict, name, err)
}

func (s *Store) generationOfEmpty(ctx context.Context, bucket, object string) (string, error) {
	var now info
	t := target{bucket, object, metadata(bucket, object), url.Values{"fields": {fields}}}
	err := s.do(ctx, t, nil, func(a steady.Ask) error {
		_, body, err := s.client.Page(ctx, a)
		if err == nil {
			err = json.Unmarshal(body, &now)
		}
		return err
	})
	if err == nil && now.Size != 0 {
		err = store.ErrConflict
	}
	return now.Generation, err
}

// metadata is the path of an object.
func metadata(bucket, object string) string {
	return "/storage/v1/b/" + url.PathEscape(bucket) + "/o/" + url.PathEscape(object)
}

// Remove implements [store.Writer].
func (s *Store) Remove(ctx context.Context, name string) error {
	bucket, object, err := split(name)
	if err != nil {
		return err
	}
	t := target{bucket, object, metadata(bucket, object), nil}
	var inDoubt bool
	err = s.do(ctx, t, &write{http.MethodDelete, nil, 0}, func(a steady.Ask) error {
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
