package storetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Server is an HTTP server with the objects of a [Memory], over connections in memory, so
// that it runs in package testing/synctest. It knows ranges and conditions by
// [http.ServeContent].
type Server struct {
	Memory
	// Fault answers a request, in place of the server, and returns true; or it does
	// nothing, or changes the answer to come. n counts the requests from 0.
	Fault func(n int, w http.ResponseWriter, r *http.Request) (answered bool)
	// Pause is the time before each answer.
	Pause time.Duration

	lines listener

	mu     sync.Mutex // guards what is below
	asked  []Asked
	within int
	atOnce int
}

// Asked is a request that has come.
type Asked struct {
	At     time.Time
	Host   string
	Path   string // as it was written
	Header http.Header
}

// NewServer starts a server, which ends with the test.
func NewServer(t *testing.T) *Server {
	s := &Server{lines: listener{make(chan net.Conn), make(chan struct{}), new(sync.Once)}}
	done := make(chan struct{})
	server := &http.Server{Handler: s, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)} // faults are meant
	go func() {
		defer close(done)
		server.Serve(s.lines)
	}()
	t.Cleanup(func() {
		server.Close()
		<-done
	})
	return s
}

// Dial connects to the server, whatever the address.
func (s *Server) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case s.lines.to <- theirs:
		return ours, nil
	case <-s.lines.gone:
		return nil, syscall.ECONNREFUSED
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Asked returns the requests so far.
func (s *Server) Asked() []Asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// AtOnce returns the most requests that were being answered at the same time.
func (s *Server) AtOnce() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.atOnce
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	n := len(s.asked)
	s.asked = append(s.asked, Asked{time.Now(), r.Host, r.URL.EscapedPath(), r.Header.Clone()})
	s.within++
	s.atOnce = max(s.atOnce, s.within)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.within--
		s.mu.Unlock()
	}()
	if s.Pause > 0 {
		Wait(r, s.Pause)
	}
	if s.Fault != nil && s.Fault(n, w, r) {
		return
	}
	s.Answer(w, r)
}

// Answer answers a request for an object as a good server does.
func (s *Server) Answer(w http.ResponseWriter, r *http.Request) {
	s.Memory.mu.Lock()
	content, ok := s.objects[r.URL.Path[1:]]
	s.Memory.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	sum := sha256.Sum256(content)
	if w.Header().Get("ETag") == "" {
		w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:8])+`"`)
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// Whole answers without ranges.
func (s *Server) Whole(w http.ResponseWriter, r *http.Request) {
	r.Header.Del("Range")
	s.Answer(w, r)
}

// Cut answers with so many bytes of the body, and then then, which may not return.
func (s *Server) Cut(w http.ResponseWriter, r *http.Request, after int, then func(*http.Request)) {
	s.Answer(&cut{w, r, after, then}, r)
}

// Reset breaks the connection.
func Reset(*http.Request) { panic(http.ErrAbortHandler) }

// Stall waits until the client has gone.
func Stall(r *http.Request) {
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

// Wait waits, at most until the client has gone.
func Wait(r *http.Request, d time.Duration) {
	select {
	case <-time.After(d):
	case <-r.Context().Done():
	}
}

// cut is an answer that ends in the middle.
type cut struct {
	http.ResponseWriter
	r    *http.Request
	left int
	then func(*http.Request)
}

// Write implements [io.Writer].
func (c *cut) Write(p []byte) (int, error) {
	n := min(len(p), c.left)
	c.left -= n
	m, err := c.ResponseWriter.Write(p[:n])
	if n == len(p) || err != nil {
		return m, err
	}
	if err := http.NewResponseController(c.ResponseWriter).Flush(); err != nil {
		return m, err
	}
	c.then(c.r)
	return m, io.ErrClosedPipe
}

// Range returns the range that a request asks for.
func Range(r *http.Request) (first, last int64) {
	fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &first, &last)
	return first, last
}

// Part writes an answer with a range.
func Part(w http.ResponseWriter, first, last, size int64, body []byte) {
	w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, last, size))
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusPartialContent)
	w.Write(body)
}

// listener accepts connections in memory.
type listener struct {
	to   chan net.Conn
	gone chan struct{}
	once *sync.Once
}

// Accept implements [net.Listener].
func (l listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.to:
		return c, nil
	case <-l.gone:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (l listener) Close() error {
	l.once.Do(func() { close(l.gone) })
	return nil
}

// Addr implements [net.Listener].
func (listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }
