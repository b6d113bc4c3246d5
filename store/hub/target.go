package hub

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/steady"
)

// place names a file of the Hub.
type place struct {
	repo
	path string
}

// target has the Hub's answer about a file, and the address of its content.
type target struct {
	size    int64
	version string
	at      *url.URL
	isHub   bool // which wants the token
	isFixed bool // its content never changes, as the address has a commit or a hash
	until   time.Time
}

// found is a target that one caller at a time asks for.
type found struct {
	turn steady.Turn
	target
}

const (
	mostTargets  = 1 << 17 // kept: 100 MB
	earlier      = time.Minute
	shortestLife = 5 * time.Minute // a clock may be wrong, and a refusal is no harm
	usualLife    = time.Hour
	mostHops     = 5
)

// find returns the target of a file. The Hub is asked if there is none, if it has ended
// or is the old one, or again; and once for all callers at the same time.
func (s *Store) find(ctx context.Context, p place, again bool, old *target) (t target, err error) {
	if strings.HasSuffix(p.path, "/") {
		return t, fmt.Errorf("%w: it is a folder", fs.ErrNotExist)
	}
	s.mu.Lock()
	f := s.places[p]
	if f == nil {
		s.forgetSome()
		f = &found{turn: steady.NewTurn()}
		s.places[p] = f
	}
	s.mu.Unlock()

	if err := f.turn.Take(ctx); err != nil {
		return t, err
	}
	defer f.turn.Give()
	isOld := f.at == nil || !time.Now().Before(f.until) || old != nil && old.at == f.at
	if !isOld && !again {
		return f.target, ctx.Err()
	}
	if t, err = s.resolve(ctx, p); err == nil {
		f.target = t
	}
	return t, err
}

// forgetSome makes room if there is none.
func (s *Store) forgetSome() {
	if len(s.places) < mostTargets {
		return
	}
	for p := range s.places {
		if len(s.places) < mostTargets*7/8 {
			return
		}
		delete(s.places, p) // in an order that is random enough
	}
}

// resolve asks the Hub for the target of a file.
func (s *Store) resolve(ctx context.Context, p place) (t target, err error) {
	set, err := s.begin()
	if err != nil {
		return t, err
	}
	u, err := set.url(p.file(p.path))
	if err != nil {
		return t, err
	}
	told := http.Header{} // by all answers on the way
	for range mostHops {
		header, body, err := s.hub.Page(ctx, set.asking(u, "bytes=0-0"))
		var r *steady.Refusal
		if errors.As(err, &r) {
			header = r.Header
		}
		for _, name := range []string{"X-Linked-Size", "X-Linked-Etag", "X-Xet-Hash"} {
			if told.Get(name) == "" {
				told.Set(name, header.Get(name))
			}
		}
		isEmpty := r != nil && r.Status == http.StatusRequestedRangeNotSatisfiable
		if err == nil || isEmpty {
			_, size, isPart := strings.Cut(header.Get("Content-Range"), "/")
			if !isPart || isEmpty {
				size = strconv.Itoa(len(body)) // it is whole
			}
			told.Set("X-Linked-Size", size)
			return s.target(ctx, p.repo, told, header, u, true)
		}
		if r == nil || r.Status/100 != 3 {
			return t, set.explained(err, p.repo)
		}

		// Its own paths are followed as the user; elsewhere, only ranges are read.
		to, ok := redirected(u, err)
		switch f, known := s.listed(p.repo, p.path); {
		case !ok:
			return t, fmt.Errorf("hub: %s redirects to nowhere", u.Host)
		case to.Scheme != "https" && to.Scheme != u.Scheme:
			return t, fmt.Errorf("hub: %s redirects from %s:// to %s://", u.Host, u.Scheme, to.Scheme)
		case to.Host != u.Host:
			return s.target(ctx, p.repo, told, header, to, false)
		case known && f != nil && strings.Contains(to.Path, "/api/resolve-cache/"): // all is known without asking there
			return target{size: f.size, version: f.version, at: to, isHub: true, isFixed: true, until: time.Now().Add(usualLife)}, nil
		}
		u = to
	}
	return t, tooManyHops(u)
}

// target makes a target of the headers of all answers on the way, and of the last one.
func (s *Store) target(ctx context.Context, r repo, told, last http.Header, at *url.URL, isHub bool) (t target, err error) {
	t = target{at: at, isHub: isHub, isFixed: !isHub || r.kind != buckets, until: time.Now().Add(lifeOf(at, last))}
	if isHub && told.Get("X-Linked-Etag") == "" {
		told.Set("X-Linked-Etag", last.Get("ETag"))
	}
	tag := tagOf(told, r.kind == buckets)
	t.size, err = strconv.ParseInt(told.Get("X-Linked-Size"), 10, 64)
	if err != nil && !isHub {
		var o store.Object
		o, err = s.rest.Stat(ctx, "", t.asking(nil))
		t.size = o.Size
	}
	if err != nil || t.size < 0 || t.size > 0 && tag == "" {
		return t, errors.Join(fmt.Errorf("hub: %s tells no size or version of the file", at.Host), err)
	}
	t.version = steady.TagVersion(tag, t.size)
	return t, nil
}

// tagOf is the hash of a file, as listings have it.
func tagOf(answer http.Header, inBucket bool) string {
	tag, hash := answer.Get("X-Linked-Etag"), answer.Get("X-Xet-Hash")
	if tag == "" {
		tag = answer.Get("ETag")
	}
	if hash != "" && (tag == "" || inBucket) {
		return hash
	}
	return strings.TrimPrefix(tag, "W/")
}

// lifeOf returns the time for which an address is used: until shortly before its end.
func lifeOf(at *url.URL, answer http.Header) time.Duration {
	now, err := http.ParseTime(answer.Get("Date")) // the clock here may be wrong
	if err != nil {
		now = time.Now()
	}
	q := at.Query()
	ends := now.Add(usualLife)
	if unix, err := strconv.ParseInt(q.Get("Expires"), 10, 64); err == nil {
		ends = time.Unix(unix, 0)
	} else if signed, err := time.Parse("20060102T150405Z", q.Get("X-Amz-Date")); err == nil {
		if seconds, err := strconv.ParseUint(q.Get("X-Amz-Expires"), 10, 31); err == nil {
			ends = signed.Add(time.Duration(seconds) * time.Second)
		}
	}
	return max(ends.Sub(now)-earlier, shortestLife)
}

// asking returns how bytes of a file are asked for.
func (t *target) asking(set *settings) steady.Ask {
	a := steady.Ask{Host: t.at.Host, Request: func(ctx context.Context, header http.Header) (*http.Request, error) {
		return request(ctx, t.at, header), nil
	}}
	if t.isHub {
		a = set.asking(t.at, "")
	}
	a.Version = func(answer http.Header, size int64) string {
		if t.isFixed {
			return t.version // other hosts have ETags of their own
		}
		return steady.TagVersion(tagOf(answer, true), size)
	}
	return a
}
