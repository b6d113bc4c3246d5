package s3

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/steady"
)

// write is a request that changes something. The service has the sum of its body, and so
// takes it whole or not at all.
type write struct {
	method   string
	header   http.Header // conditions
	content  io.ReaderAt // nil: no body
	at, size int64
	sum      string
}

func newWrite(method string, content io.ReaderAt, at, size int64) (*write, error) {
	w := &write{method, http.Header{}, content, at, size, noBody}
	if content == nil {
		return w, nil
	}
	h := sha256.New()
	n, err := io.Copy(h, io.NewSectionReader(content, at, size))
	if err == nil && n < size {
		err = io.ErrUnexpectedEOF
	}
	w.sum = hex.EncodeToString(h.Sum(nil))
	return w, err
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
	r.Header.Set("X-Amz-Content-Sha256", w.sum)
	if w.content != nil {
		r.Body, r.ContentLength = steady.Body(w.content, w.at, w.size), w.size
	}
}

// sizes are bytes of writes.
type sizes struct {
	atOnce int64 // of objects that are written by one request
	part   int64 // at least, of larger objects
}

const (
	mostParts = 10000
	mostAbort = 10 * time.Second // for parts to be removed after a failure
)

// Put implements [store.Writer]. Large objects are written in parts, which are no object
// until the last request.
func (s *Store) Put(ctx context.Context, name string, content io.ReaderAt, size int64, c store.Condition) (store.Object, error) {
	bucket, key, err := split(name)
	if err != nil {
		return store.Object{}, err
	}
	condition, err := s.condition(ctx, bucket, key, c)
	if err != nil {
		return store.Object{}, err
	}

	var tag string
	var inDoubt bool
	if size <= s.atOnce {
		tag, inDoubt, err = s.put(ctx, target{bucket, key, ""}, content, 0, size, condition)
	} else {
		tag, inDoubt, err = s.putParts(ctx, bucket, key, content, size, condition)
	}
	if err == nil {
		return store.Told(ctx, s, store.Object{Name: name, Size: size, Version: steady.TagVersion(tag, size)}, content)
	}

	isConflict := refusesCondition(err, c)
	if inDoubt && (isConflict || isDone(err)) { // the object that is there may be this one
		if o, same := store.Holds(ctx, s, name, content, size); same {
			return o, nil
		}
	}
	if !isConflict {
		return store.Object{}, err
	}
	return store.Object{}, fmt.Errorf("%w: %q (%v)", store.ErrConflict, name, err)
}

// isDone tells whether the parts of an object are gone, as they are when it is made.
func isDone(err error) bool {
	var r *steady.Refusal
	return errors.As(err, &r) && reasonOf(r).Code == "NoSuchUpload"
}

// refusesCondition tells whether a write was refused as its condition does not hold.
func refusesCondition(err error, c store.Condition) bool {
	var r *steady.Refusal
	if !errors.As(err, &r) {
		return false
	}
	switch r.Status {
	case http.StatusPreconditionFailed:
		return true
	case http.StatusConflict:
		return reasonOf(r).Code == "ConditionalRequestConflict"
	case http.StatusNotFound:
		return c.Version != "" && reasonOf(r).Code == "NoSuchKey"
	}
	return false
}

// condition returns the headers of a condition.
func (s *Store) condition(ctx context.Context, bucket, key string, c store.Condition) (http.Header, error) {
	switch {
	case c.Absent:
		return http.Header{"If-None-Match": {"*"}}, nil
	case c.Version == "":
		return http.Header{}, nil
	}
	tag := steady.VersionTag(c.Version)
	if tag == "" { // of objects without bytes, only listings tell the ETag
		var p page
		if err := s.page(ctx, bucket, key, "", &p); err != nil {
			return nil, err
		}
		if len(p.Contents) == 0 || p.Contents[0].Key != key || p.Contents[0].Size != 0 {
			return nil, c.Check(store.Object{Version: "another"}, nil)
		}
		tag = p.Contents[0].ETag
	}
	return http.Header{"If-Match": {tag}}, nil
}

// put writes an object, or a part of one.
func (s *Store) put(ctx context.Context, t target, content io.ReaderAt, at, size int64, condition http.Header) (
	tag string, inDoubt bool, err error,
) {
	w, err := newWrite(http.MethodPut, content, at, size)
	if err != nil {
		return "", false, err
	}
	w.header = condition
	err = s.do(ctx, t, w, func(c *steady.Client, a steady.Ask) error {
		header, _, unsure, err := c.Send(ctx, a)
		tag, inDoubt = header.Get("ETag"), inDoubt || unsure
		return err
	})
	return tag, inDoubt, err
}

// part is a part of an object, as the last request names it.
type part struct {
	PartNumber int
	ETag       string
}

func (s *Store) putParts(ctx context.Context, bucket, key string, content io.ReaderAt, size int64, condition http.Header) (
	tag string, inDoubt bool, err error,
) {
	var begun struct{ UploadId string }
	if _, err := s.ask(ctx, http.MethodPost, target{bucket, key, "uploads="}, nil, nil, &begun); err != nil {
		return "", false, err
	}
	query := "uploadId=" + encode(begun.UploadId, false)
	defer func() {
		if err != nil { // parts cost as objects do
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), mostAbort)
			defer cancel()
			s.ask(ctx, http.MethodDelete, target{bucket, key, query}, nil, nil, nil)
		}
	}()

	var all struct {
		XMLName xml.Name `xml:"CompleteMultipartUpload"`
		Part    []part
	}
	step := max(s.part, (size+mostParts-1)/mostParts)
	for at := int64(0); at < size; at += step {
		n := len(all.Part) + 1
		tag, _, err := s.put(ctx, target{bucket, key, "partNumber=" + strconv.Itoa(n) + "&" + query},
			content, at, min(step, size-at), http.Header{})
		if err != nil {
			return "", false, err
		}
		all.Part = append(all.Part, part{n, tag})
	}
	text, err := xml.Marshal(all)
	if err != nil {
		return "", false, err
	}
	var done struct{ ETag string }
	inDoubt, err = s.ask(ctx, http.MethodPost, target{bucket, key, query}, text, condition, &done)
	return done.ETag, inDoubt, err
}

// statusInside returns the status of an answer of 200: after a while of work, an error is
// in its body.
func statusInside(body []byte) int {
	var e struct {
		XMLName xml.Name
		Code    string
	}
	if xml.Unmarshal(body, &e); e.XMLName.Local != "Error" {
		return http.StatusOK
	}
	switch e.Code {
	case "PreconditionFailed":
		return http.StatusPreconditionFailed
	case "ConditionalRequestConflict":
		return http.StatusConflict
	case "InternalError":
		return http.StatusInternalServerError
	case "SlowDown", "ServiceUnavailable", "RequestTimeout":
		return http.StatusServiceUnavailable
	case "NoSuchUpload", "NoSuchKey":
		return http.StatusNotFound
	case "AccessDenied":
		return http.StatusForbidden
	}
	return http.StatusBadRequest
}

// ask makes a small request, and reads its answer.
func (s *Store) ask(ctx context.Context, method string, t target, text []byte, header http.Header, into any) (inDoubt bool, err error) {
	w, err := newWrite(method, strings.NewReader(string(text)), 0, int64(len(text)))
	if err != nil {
		return false, err
	}
	w.header = header
	err = s.do(ctx, t, w, func(c *steady.Client, a steady.Ask) error {
		a.Status = statusInside
		_, body, unsure, err := c.Send(ctx, a)
		inDoubt = inDoubt || unsure
		if err == nil && into != nil {
			err = xml.Unmarshal(body, into)
		}
		return err
	})
	return inDoubt, err
}

// Remove implements [store.Writer]. The service does not tell whether there was one.
func (s *Store) Remove(ctx context.Context, name string) error {
	bucket, key, err := split(name)
	if err == nil {
		_, err = s.Stat(ctx, name)
	}
	if err != nil {
		return err
	}
	_, err = s.ask(ctx, http.MethodDelete, target{bucket, key, ""}, nil, nil, nil)
	return err
}

var _ store.Writer = (*Store)(nil)
