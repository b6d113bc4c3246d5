package live

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"syscall"
	"time"

	"github.com/headrace/headrace/internal/node"
)

// circle is the name under which processes with loaders meet.
const circle = "page"

// join has other processes of the user ask this one, at a socket that only they can open.
// The lock is held.
func (p *process) join(ctx context.Context, served *sync.WaitGroup) {
	c, err := node.Join(circle)
	if err != nil {
		slog.Debug("other processes do not see these loaders", "error", err)
		return
	}
	l, err := net.Listen("unix", c.Socket())
	if err != nil {
		c.Close()
		slog.Debug("other processes do not see these loaders", "error", err)
		return
	}
	p.circle = c

	mux := http.NewServeMux()
	mux.HandleFunc("GET /moments", func(w http.ResponseWriter, _ *http.Request) { answer(w, p.moments()) })
	mux.HandleFunc("GET /history", func(w http.ResponseWriter, r *http.Request) {
		if h, ok := p.historyOf(r.FormValue("loader")); ok {
			answer(w, h)
			return
		}
		http.NotFound(w, r)
	})
	mux.HandleFunc("GET /sample", func(w http.ResponseWriter, r *http.Request) {
		if s, ok := p.sampleOf(r.Context(), r.FormValue("loader")); ok {
			answer(w, s)
			return
		}
		http.NotFound(w, r)
	})
	s := &http.Server{Handler: mux, ReadHeaderTimeout: patience, WriteTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	served.Go(func() {
		defer context.AfterFunc(ctx, func() { s.Close() })()
		s.Serve(l)
	})
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v) // whoever has gone hears nothing
}

// patience bounds the wait for another process: one that is stopped must not hide the
// others.
const patience = 2 * time.Second

// others returns the moments of the other processes, which are asked once a reading,
// however many browsers there are.
func (p *process) others(ctx context.Context) []*Moment {
	p.mu.Lock()
	c := p.circle
	p.mu.Unlock()
	p.asking.Lock()
	defer p.asking.Unlock()
	if c == nil || time.Since(p.at) < p.every*3/4 {
		return p.told
	}
	p.told, p.at = askAll(ctx, c), time.Now()
	return p.told
}

// All returns the moments of all loaders of this user that are watched, for a program
// that watches none itself.
func All(ctx context.Context) ([]*Moment, error) {
	c, err := node.Join(circle)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return askAll(ctx, c), nil
}

// askAll asks all other members at once.
func askAll(ctx context.Context, c *node.Circle) (all []*Moment) {
	paths := c.Others()
	told := make([][]*Moment, len(paths))
	var asking sync.WaitGroup
	for i, path := range paths {
		asking.Go(func() {
			if err := ask(ctx, path, "/moments", &told[i]); errors.Is(err, syscall.ECONNREFUSED) {
				c.Forget(path)
			}
		})
	}
	asking.Wait()
	for _, of := range told {
		for _, m := range of {
			if m != nil {
				all = append(all, m)
			}
		}
	}
	return all
}

// otherHistory asks the other processes for the history of a loader.
func (p *process) otherHistory(ctx context.Context, id string) (h History, ok bool) {
	p.mu.Lock()
	c := p.circle
	p.mu.Unlock()
	if c == nil {
		return h, false
	}
	for _, path := range c.Others() {
		if ask(ctx, path, "/history?loader="+url.QueryEscape(id), &h) == nil {
			return h, true
		}
	}
	return h, false
}

// mostAnswer bounds an answer of another process.
const mostAnswer = 4 << 20

// ask reads an answer of another process.
func ask(ctx context.Context, path, what string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		},
	}}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+what, nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return errors.New(answer.Status)
	}
	return json.NewDecoder(io.LimitReader(answer.Body, mostAnswer)).Decode(into)
}
