package steady_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/steady"
	"github.com/headrace/headrace/store/storetest"
)

// bed is a server with an object "x", and a client.
type bed struct {
	*testing.T
	*storetest.Server
	c       *steady.Client
	ask     steady.Ask
	x       store.Object
	content []byte
}

// in runs a test with a bed, in a bubble in which time costs nothing.
func in(t *testing.T, size int, test func(b *bed)) {
	synctest.Test(t, func(t *testing.T) {
		b := &bed{T: t, Server: storetest.NewServer(t), content: make([]byte, size)}
		r := rand.NewChaCha8([32]byte{})
		r.Read(b.content)
		b.Set("x", b.content)
		b.c = b.client()
		b.ask = askFor("x")
		var err error
		if b.x, err = b.c.Stat(t.Context(), "x", b.ask); err != nil || b.x.Size != int64(size) || b.x.Name != "x" {
			t.Fatalf("%+v, %v", b.x, err)
		}
		test(b)
	})
}

func (b *bed) client() *steady.Client {
	transport := steady.Transport()
	transport.DialContext, transport.Proxy = b.Dial, nil
	b.Cleanup(transport.CloseIdleConnections)
	return steady.New(transport, true)
}

func askFor(name string) steady.Ask {
	return steady.Ask{Host: "server", Request: func(ctx context.Context, h http.Header) (*http.Request, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://server/"+name, nil)
		if err == nil {
			r.Header = h.Clone()
			r.Header.Set("Authorization", "secret")
			r.Header.Set("X-Token", "secret")
		}
		return r, err
	}}
}

func (b *bed) read(at, n int) ([]byte, error) {
	p := make([]byte, n)
	return p, b.c.Fill(b.Context(), b.x, p, int64(at), b.ask)
}

// reads fails unless a part of the object can be read.
func (b *bed) reads(at, n int) {
	b.Helper()
	if got, err := b.read(at, n); err != nil || !bytes.Equal(got, b.content[at:at+n]) {
		b.Errorf("%d bytes at %d: %v, or wrong bytes", n, at, err)
	}
}

// fails fails unless no part of the object can be read, for this reason. It returns how
// long that took.
func (b *bed) fails(is error, says ...string) time.Duration {
	b.Helper()
	since := time.Now()
	_, err := b.read(1, len(b.content)-2)
	for _, text := range says {
		if err == nil || !strings.Contains(err.Error(), text) {
			b.Errorf("%v lacks %q", err, text)
		}
	}
	if is != nil && !errors.Is(err, is) || err == nil || strings.Contains(err.Error(), "secret") {
		b.Errorf("%v is not %v", err, is)
	}
	return time.Since(since)
}

func (b *bed) counts() store.Counts { return b.c.Counts()[0] }

// TestResetsAtEveryByte: a read goes on at the byte at which the last one broke off, and
// asks for no byte twice.
func TestResetsAtEveryByte(t *testing.T) {
	in(t, 300, func(b *bed) {
		for k := range len(b.content) + 1 {
			broken := false
			synctest.Wait()
			b.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool {
				if first, _ := storetest.Range(r); !broken {
					broken = true
					b.Cut(w, r, k-int(first), storetest.Reset)
					return true
				} else if int(first) != k {
					b.Errorf("broken at %d, it goes on at %d", k, first)
				}
				return false
			}
			b.reads(0, len(b.content))
		}
		if c := b.counts(); c.Fetched != c.Wanted || c.Retries != int64(len(b.content)) {
			b.Errorf("%+v", c)
		}
	})
}

// TestBeginnings: the bytes at the beginning come with the size in one request; those
// that came before the answer broke off are kept.
func TestBeginnings(t *testing.T) {
	in(t, 300, func(b *bed) {
		for k := range len(b.content) + 1 {
			synctest.Wait()
			asked := b.counts().Requests
			broken := false
			b.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool {
				if broken {
					return false
				}
				broken = true
				b.Cut(w, r, k, storetest.Reset)
				return true
			}
			first := make([]byte, len(b.content))
			o, n, err := b.c.Begin(b.Context(), "x", first, b.ask)
			want, requests := k, int64(1)
			if k == 0 {
				want, requests = len(first), 2
			}
			if err != nil || o != b.x || n != want || !bytes.Equal(first[:n], b.content[:n]) || b.counts().Requests-asked != requests {
				t.Errorf("cut at %d: %+v, %d bytes, %v", k, o, n, err)
			}
		}
	})
}

// TestStalls: a body that stops costs 10 s, an answer that does not begin 5 s, and a slow
// one nothing, however long it takes.
func TestStalls(t *testing.T) {
	in(t, 1000, func(b *bed) {
		for _, c := range []struct {
			what  string
			fault func(w http.ResponseWriter, r *http.Request)
			least time.Duration
			most  time.Duration
		}{
			{"a stall in the body", func(w http.ResponseWriter, r *http.Request) { b.Cut(w, r, 10, storetest.Stall) },
				10 * time.Second, 11 * time.Second},
			{"a stall before the first byte", func(w http.ResponseWriter, r *http.Request) { storetest.Stall(r) },
				5 * time.Second, 5 * time.Second},
			{"no answer", func(w http.ResponseWriter, r *http.Request) { storetest.Reset(r) },
				0, time.Second},
			{"a slow first byte", func(w http.ResponseWriter, r *http.Request) { storetest.Wait(r, 4*time.Second); b.Answer(w, r) },
				4 * time.Second, 4 * time.Second},
		} {
			var done atomic.Bool
			synctest.Wait()
			b.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool {
				if done.Swap(true) {
					return false
				}
				c.fault(w, r)
				return true
			}
			since := time.Now()
			b.reads(0, 1000)
			if took := time.Since(since); took < c.least || took > c.most {
				b.Errorf("%s costs %v, want %v", c.what, took, c.least)
			}
		}

		// If every answer is slow, the first one is waited for.
		synctest.Wait()
		b.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			storetest.Wait(r, 29*time.Second)
			return false
		}
		since := time.Now()
		if b.reads(0, 1000); time.Since(since) != 29*time.Second {
			b.Errorf("slow answers cost %v", time.Since(since))
		}

		// Ten seconds less a bit before each byte: over two hours, and no byte twice.
		before := len(b.Asked())
		synctest.Wait()
		b.Fault = slowly(b)
		b.reads(0, 1000)
		if n := len(b.Asked()) - before; n != 1 {
			b.Errorf("%d requests", n)
		}
	})
}

func slowly(b *bed) func(int, http.ResponseWriter, *http.Request) bool {
	return func(_ int, w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Content-Range", "bytes 0-999/1000")
		w.Header().Set("ETag", `"`+b.x.Version+`"`)
		w.WriteHeader(http.StatusPartialContent)
		http.NewResponseController(w).Flush()
		for i := range b.content {
			storetest.Wait(r, 9*time.Second)
			w.Write(b.content[i : i+1])
			http.NewResponseController(w).Flush()
		}
		return true
	}
}

// TestWrongAnswers: answers that are not what was asked for are no data.
func TestWrongAnswers(t *testing.T) {
	part := func(first, last, size int64, body int, header ...string) func(b *bed, w http.ResponseWriter, r *http.Request) {
		return func(b *bed, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"`+b.x.Version+`"`)
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			storetest.Part(w, first, last, size, make([]byte, body))
		}
	}
	for _, c := range []struct {
		what  string
		fault func(b *bed, w http.ResponseWriter, r *http.Request)
		is    error
		says  string
	}{
		{"another range", part(0, 97, 100, 98), syscall.EREMOTEIO, "the bytes 0 to 97, not 1 to 98"},
		{"a longer range", part(1, 99, 100, 99), syscall.EREMOTEIO, "the bytes 1 to 99, not 1 to 98"},
		{"another length", part(1, 98, 100, 50), syscall.EREMOTEIO, "98 bytes, and is 50 long"},
		{"another size", part(1, 98, 101, 98), store.ErrChanged, "had 100 bytes, and has 101"},
		{"another version", part(1, 98, 100, 98, "ETag", `"other"`), store.ErrChanged, "is other"},
		{"no version", part(1, 98, 100, 98, "ETag", ""), store.ErrChanged, "is unknown"},
		{"no range", part(1, 98, 100, 98, "Content-Type", "multipart/byteranges; boundary=x"), syscall.EREMOTEIO, "several ranges"},
		{"an encoding", func(b *bed, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			b.Whole(w, r)
		}, nil, "encoded (gzip)"},
		{"nonsense", func(b *bed, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Range", "bytes 1--98/100")
			w.WriteHeader(http.StatusPartialContent)
		}, syscall.EREMOTEIO, `invalid Content-Range, "bytes 1--98/100"`},
		{"a short body", func(b *bed, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "98")
			part(1, 98, 100, 98)(b, &short{w}, r)
			storetest.Reset(r)
		}, syscall.EREMOTEIO, "tries in 2m"},
		{"10⁶ headers", func(b *bed, w http.ResponseWriter, r *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				b.Error(err)
				return
			}
			defer conn.Close()
			io.WriteString(conn, "HTTP/1.1 206 OK\r\n"+strings.Repeat("X-Header: x\r\n", 1_000_000))
		}, syscall.EREMOTEIO, "headers exceeded"},
		{"nothing", func(b *bed, w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNoContent) },
			nil, "answers 204"},
		{"another method", func(b *bed, w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) },
			nil, "answers 405 Method Not Allowed"},
		{"gone", func(b *bed, w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }, fs.ErrNotExist, "answers 404"},
		{"denied", func(b *bed, w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusForbidden) },
			fs.ErrPermission, "answers 403"},
		{"replaced", func(b *bed, w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusPreconditionFailed) },
			store.ErrChanged, "100 bytes"},
		{"shorter", func(b *bed, w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
		},
			store.ErrChanged, "100 bytes"},
		{"errors", func(b *bed, w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
			syscall.EREMOTEIO, "answers 500 Internal Server Error (after 10 tries in"},
	} {
		t.Run(c.what, func(t *testing.T) {
			in(t, 100, func(b *bed) {
				synctest.Wait()
				b.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool { c.fault(b, w, r); return true }
				before := len(b.Asked())
				took, isNone := b.fails(c.is, c.says), c.what == "10⁶ headers" || c.what == "a short body" // which are no answers to Go
				if took > 2*time.Minute && !isNone {
					b.Errorf("it takes %v", took)
				}
				// Go sends a request again if a connection ends that was used before.
				if n := len(b.Asked()) - before; c.is != syscall.EREMOTEIO && n != 1 || n > 11 && !isNone {
					b.Errorf("%d requests", n)
				}
			})
		})
	}
}

// short is an answer that loses its last byte.
type short struct{ http.ResponseWriter }

// Write implements [io.Writer].
func (s *short) Write(p []byte) (int, error) {
	s.ResponseWriter.Write(p[:len(p)-1])
	return len(p), nil
}

// TestEndlessBodies: no more is read than was asked for.
func TestEndlessBodies(t *testing.T) {
	in(t, 100, func(b *bed) {
		synctest.Wait()
		b.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("ETag", `"`+b.x.Version+`"`)
			w.Header().Set("Content-Range", "bytes 0-99/100")
			w.WriteHeader(http.StatusPartialContent)
			for i := 0; ; i++ {
				p := make([]byte, 100)
				if copy(p, b.content); i > 0 {
					p = make([]byte, 1<<20)
				}
				if _, err := w.Write(p); err != nil {
					return true
				}
			}
		}
		b.reads(0, 100)
		if _, body, err := b.c.Page(b.Context(), b.ask); err == nil || !strings.Contains(err.Error(), "more than 67108864 bytes") {
			b.Errorf("a page of %d bytes: %v", len(body), err)
		}
	})
}

// TestServersWithoutRanges: files are read whole, and not far beyond their beginning.
func TestServersWithoutRanges(t *testing.T) {
	in(t, 2<<20, func(b *bed) {
		synctest.Wait()
		b.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool { b.Whole(w, r); return true }
		if now, err := b.c.Stat(b.Context(), "x", b.ask); err != nil || now != b.x {
			b.Errorf("%+v, %v", now, err)
		}
		b.reads(0, 2<<20)
		b.reads(1000, 100)
		if _, err := b.read(1<<20+1, 10); !errors.Is(err, steady.ErrNoRanges) {
			b.Error(err)
		}
	})
	in(t, 0, func(b *bed) {
		if b.x.Version == "" {
			b.Error("an empty object has no version")
		}
		if _, err := b.read(0, 1); err != io.ErrUnexpectedEOF {
			b.Error(err)
		}
		synctest.Wait()
		b.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool { b.Whole(w, r); return true }
		if now, err := b.c.Stat(b.Context(), "x", b.ask); err != nil || now != b.x {
			b.Errorf("%+v, %v", now, err)
		}
		synctest.Wait()
		b.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Content-Range", "bytes 0--1/0")
			w.WriteHeader(http.StatusPartialContent)
			return true
		}
		if now, err := b.c.Stat(b.Context(), "x", b.ask); err != nil || now != b.x {
			b.Errorf("a part of nothing: %+v, %v", now, err)
		}
		synctest.Wait()
		b.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool { // chunked
			http.NewResponseController(w).Flush()
			return true
		}
		if _, err := b.c.Stat(b.Context(), "x", b.ask); err == nil || !strings.Contains(err.Error(), "does not say how long") {
			b.Error(err)
		}
	})
}

// TestVersions: each kind of version is asked for, and checked.
func TestVersions(t *testing.T) {
	in(t, 100, func(b *bed) {
		date := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Format(http.TimeFormat)
		for _, c := range []struct{ tag, modified, version, header, asks string }{
			{`"a+b%2B"`, date, "a%2Bb%252B", "If-Match", `"a+b%2B"`},
			{`W/"weak"`, date, `W/"weak"`, "If-Match", ""},
			{`naked`, "", "naked", "If-Match", `"naked"`},
			{"", date, "@1767323045", "If-Unmodified-Since", date},
			{"", "", "unknown", "If-Match", ""},
		} {
			synctest.Wait()
			b.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool {
				first, last := storetest.Range(r)
				if c.tag != "" {
					w.Header()["Etag"] = []string{c.tag}
				}
				if c.modified != "" {
					w.Header().Set("Last-Modified", c.modified)
				}
				storetest.Part(w, first, last, 100, b.content[first:last+1])
				return true
			}
			o, err := b.c.Stat(b.Context(), "x", b.ask)
			if err != nil || o.Version != c.version {
				b.Errorf("%q and %q are %+v, %v", c.tag, c.modified, o, err)
			}
			b.x = o
			b.reads(5, 50)
			asked := b.Asked()
			if got := asked[len(asked)-1].Header.Get(c.header); got != c.asks {
				b.Errorf("%s: %q, want %q", c.header, got, c.asks)
			}
		}
	})
}

// TestRedirects: they are followed to other hosts, but not with credentials, and neither
// into the clear nor to files.
func TestRedirects(t *testing.T) {
	in(t, 100, func(b *bed) {
		to := "http://cdn.server/moved"
		b.Set("moved", b.content)
		synctest.Wait()
		b.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/x" {
				http.Redirect(w, r, to, http.StatusFound)
			}
			return r.URL.Path == "/x"
		}
		b.reads(3, 50)
		asked := b.Asked()
		last, before := asked[len(asked)-1], asked[len(asked)-2]
		if before.Header.Get("Authorization") == "" || before.Header.Get("X-Token") == "" {
			b.Error("the first request has no credentials: this test tests nothing")
		}
		secret := last.Header.Get("Authorization") + last.Header.Get("X-Token")
		if last.Host != "cdn.server" || secret != "" || last.Header.Get("Range") == "" {
			b.Errorf("redirected: %+v", last)
		}
		for url, says := range map[string]string{
			"file:///etc/passwd": "server redirects to file://,", "ftp://server/x": "server redirects to ftp://,",
			"/x": "more than 10 redirects",
		} {
			to = url
			before := len(b.Asked())
			b.fails(nil, says)
			if n := len(b.Asked()) - before; n > 11 {
				b.Errorf("%s: %d requests", url, n)
			}
		}
	})
}

// TestCancelled: a caller that has gone gets its own error, at once, and harms no other.
func TestCancelled(t *testing.T) {
	in(t, 100, func(b *bed) {
		for _, fault := range []func(http.ResponseWriter, *http.Request){
			func(w http.ResponseWriter, r *http.Request) { b.Cut(w, r, 10, storetest.Stall) },
			func(w http.ResponseWriter, r *http.Request) { storetest.Stall(r) },
			func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		} {
			synctest.Wait()
			b.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool { fault(w, r); return true }
			ctx, cancel := context.WithTimeout(b.Context(), time.Second)
			since := time.Now()
			err := b.c.Fill(ctx, b.x, make([]byte, 100), 0, b.ask)
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(since) > time.Second {
				b.Errorf("%v after %v", err, time.Since(since))
			}
			cancel()
		}
		synctest.Wait()
		b.Fault = nil
		time.Sleep(time.Minute) // until the host may be asked again
		gone, cancel := context.WithCancel(b.Context())
		cancel()
		for range 300 { // as readers do whose loader is closed
			if _, err := b.c.Stat(gone, "x", b.ask); !errors.Is(err, context.Canceled) {
				b.Error(err)
			}
		}
		// All places are free again.
		var all sync.WaitGroup
		for range 300 {
			all.Go(func() { b.reads(0, 100) })
		}
		all.Wait()
	})
}
