package live

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/headrace/headrace/internal/loopback"
)

//go:embed page.html
var html []byte

// server answers browsers.
type server struct {
	process *process
	token   string
	address string
	seats   chan struct{} // a token for each browser
}

const (
	mostBrowsers = 16
	// A browser that has not taken a moment by then has gone, or is asleep.
	mostSending = 10 * time.Second
	sendBuffer  = 32 << 10 // bytes that wait in the kernel for a slow browser
)

func (p *process) serve(port int) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.end == nil {
		return "", errors.New("the page has no loader to show")
	}
	if p.server != nil {
		return p.server.address, nil
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		if errno := syscall.Errno(0); errors.As(err, &errno) {
			err = errno // without the address, which the sentence has
		}
		return "", fmt.Errorf("the page cannot be served at 127.0.0.1:%d: %w; the loader goes on without it: "+
			"free the port, or choose another; 0 is any that is free", port, err)
	}

	s := &server{process: p, token: rand.Text(), seats: make(chan struct{}, mostBrowsers)}
	s.address = fmt.Sprintf("http://%s/%s/", l.Addr(), s.token)
	p.server = s
	// Its context ends with the last loader.
	ctx, end := context.WithCancel(context.Background())
	previous := p.end
	p.end = func() { previous(); end() }
	web := &http.Server{
		Handler: s.guarded(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, IdleTimeout: time.Minute,
		MaxHeaderBytes: 1 << 14, BaseContext: func(net.Listener) context.Context { return ctx },
	}
	p.served.Go(func() {
		defer context.AfterFunc(ctx, func() { web.Close() })()
		web.Serve(smallBuffers{l})
	})
	return s.address, nil
}

// smallBuffers has the kernel hold little for a browser that does not read: it would get
// old moments later, instead of the newest.
type smallBuffers struct{ net.Listener }

func (l smallBuffers) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok {
		tcp.SetWriteBuffer(sendBuffer) // or it stays larger
	}
	return c, err
}

// guarded answers requests with the token, from this machine, and refuses those that a
// page of another origin makes.
func (s *server) guarded() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.page)
	mux.HandleFunc("GET /events", s.events)
	mux.HandleFunc("GET /history", s.history)
	mux.HandleFunc("GET /sample", s.sample)
	mux.HandleFunc("GET /steps", s.steps)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", policy)
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Referrer-Policy", "no-referrer") // it has the token
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		if why := loopback.Refusal(r); why != "" {
			http.Error(w, why, http.StatusForbidden)
			return
		}
		token, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		if subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) != 1 {
			http.Error(w, "the address lacks its token: loader.page() returns all of it", http.StatusForbidden)
			return
		}
		r.URL.Path = "/" + rest
		mux.ServeHTTP(w, r)
	})
}

// policy lets the page run its own script and style, and ask this server.
var policy = fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; connect-src 'self'; img-src data:; "+
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'", hashOf("script"), hashOf("style"))

// hashOf names the content of the page's only element of a kind, as policies do.
func hashOf(element string) string {
	_, rest, _ := strings.Cut(string(html), "<"+element+">")
	content, _, _ := strings.Cut(rest, "</"+element+">")
	sum := sha256.Sum256([]byte(content))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func (s *server) page(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(html)
}

func (s *server) history(w http.ResponseWriter, r *http.Request) {
	id := r.FormValue("loader")
	h, ok := s.process.historyOf(id)
	if !ok {
		h, ok = s.process.otherHistory(r.Context(), id)
	}
	if !ok {
		http.NotFound(w, r)
		return
	}
	answer(w, h)
}

func (s *server) sample(w http.ResponseWriter, r *http.Request) {
	id := r.FormValue("loader")
	one, ok := s.process.sampleOf(r.Context(), id)
	if !ok {
		one, ok = s.process.otherSample(r.Context(), id)
	}
	if !ok {
		w.WriteHeader(http.StatusNoContent) // a page that asks is not wrong
		return
	}
	answer(w, one)
}

func (s *server) steps(w http.ResponseWriter, r *http.Request) {
	all, busy, err := s.process.stepsOf(r.Context(), r.FormValue("loader"))
	switch {
	case busy:
		http.Error(w, "they are being drawn for another browser", http.StatusServiceUnavailable)
	case err != nil:
		answer(w, []Step{{Why: cut(err.Error(), mostReport)}})
	default:
		answer(w, all)
	}
}

// events sends the newest moment after each reading. While one is on its way to a slow
// browser, others come and go, and that browser never gets them.
func (s *server) events(w http.ResponseWriter, r *http.Request) {
	select {
	case s.seats <- struct{}{}:
		defer func() { <-s.seats }()
	default:
		http.Error(w, fmt.Sprintf("%d browsers look at this page already", mostBrowsers), http.StatusServiceUnavailable)
		return
	}

	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	control.SetReadDeadline(time.Time{}) // nothing more is read
	for {
		next := s.process.next()
		event := eventOf(s.process.everywhere(r.Context()), r.FormValue("loader"))
		control.SetWriteDeadline(time.Now().Add(mostSending))
		if _, err := fmt.Fprintf(w, "data: %s\n\n", event); err != nil {
			return
		}
		if err := control.Flush(); err != nil {
			return
		}
		select {
		case <-next:
		case <-r.Context().Done():
			return
		}
	}
}
