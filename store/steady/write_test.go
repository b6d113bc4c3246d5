package steady_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/store/steady"
	"github.com/headrace/headrace/store/storetest"
)

// send sends content, and returns what the server has taken whole.
func (b *bed) send(content io.ReaderAt, size int64) (inDoubt bool, err error) {
	ask := askFor("x")
	ask.Request = func(ctx context.Context, h http.Header) (*http.Request, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://server/x", nil)
		if err == nil {
			r.Header, r.Body, r.ContentLength = h.Clone(), steady.Body(content, 0, size), size
		}
		return r, err
	}
	_, _, inDoubt, err = b.c.Send(b.Context(), ask)
	return inDoubt, err
}

// TestSend: a request that changes something is tried again with its whole body, and says
// whether an earlier try may have been carried out.
func TestSend(t *testing.T) {
	in(t, 100, func(b *bed) {
		content := bytes.Repeat([]byte("content "), 10000)
		for says, fault := range map[string]func(n int, w http.ResponseWriter, r *http.Request) bool{
			"":      func(n int, w http.ResponseWriter, r *http.Request) bool { return false },
			"again": func(n int, w http.ResponseWriter, r *http.Request) bool { w.WriteHeader(503); return n == 0 },
			"doubt": func(n int, w http.ResponseWriter, r *http.Request) bool {
				if n == 0 {
					io.ReadAll(r.Body)
					storetest.Reset(r)
				}
				return false
			},
		} {
			n := 0
			var got []byte
			synctest.Wait()
			b.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool {
				if n++; !(says == "again" && n > 1) && fault(n-1, w, r) {
					return true
				}
				got, _ = io.ReadAll(r.Body)
				w.WriteHeader(http.StatusCreated)
				return true
			}
			inDoubt, err := b.send(bytes.NewReader(content), int64(len(content)))
			if err != nil || inDoubt != (says == "doubt") || !bytes.Equal(got, content) {
				b.Errorf("%s: %d bytes, in doubt %v, %v", says, len(got), inDoubt, err)
			}
		}
	})
}

// TestSendIsRefused: a large body is not sent to a host that does not want it.
func TestSendIsRefused(t *testing.T) {
	in(t, 100, func(b *bed) {
		synctest.Wait()
		b.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			w.WriteHeader(http.StatusForbidden)
			return true
		}
		var refused *steady.Refusal
		if _, err := b.send(failing{}, 2<<20); !errors.As(err, &refused) || refused.Status != http.StatusForbidden {
			b.Error(err)
		}
	})
}

var errContent = errors.New("the disk is gone")

type failing struct{}

func (failing) ReadAt(p []byte, at int64) (int, error) { return 0, errContent }

// TestSendFails: content that cannot be read, or is shorter than it was, is an error at
// once; a host that takes no byte is tried again.
func TestSendFails(t *testing.T) {
	in(t, 100, func(b *bed) {
		var n atomic.Int64
		synctest.Wait()
		b.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool { n.Add(1); io.ReadAll(r.Body); return true }
		if _, err := b.send(failing{}, 10); !errors.Is(err, errContent) || n.Load() > 1 {
			b.Errorf("%v, after %d tries", err, n.Load())
		}
		if _, err := b.send(strings.NewReader("short"), 10); err == nil || !strings.Contains(err.Error(), "has become shorter") {
			b.Error(err)
		}
		synctest.Wait()
		n.Store(0)
		b.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			if n.Add(1) == 1 {
				time.Sleep(35 * time.Second) // it does not see that the client has gone, with a body unread
				storetest.Reset(r)
			}
			io.ReadAll(r.Body)
			return true
		}
		since := time.Now()
		inDoubt, err := b.send(strings.NewReader(strings.Repeat("x", 1<<20)), 1<<20)
		if took := time.Since(since); err != nil || !inDoubt || took < 30*time.Second || took > 32*time.Second {
			b.Errorf("a host that takes nothing: %v, in doubt %v, after %v", err, inDoubt, took)
		}
		time.Sleep(10 * time.Second) // until the handler has ended
	})
}
