package store

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Given are credentials that a program gives, by the names that their service has for
// them, such as AccessKeyId.
type Given struct {
	Values map[string]string
	Until  time.Time // when they expire; zero: never
}

// earlier is the time before their end at which credentials are renewed, or else half of
// their life.
const earlier = 5 * time.Minute

// Renewal returns the time to ask for others; zero: never.
func (g Given) Renewal(now time.Time) time.Time {
	if g.Until.IsZero() {
		return g.Until
	}
	left := g.Until.Sub(now)
	return now.Add(max(left-earlier, left/2))
}

// FromGiver names the source of credentials that a [Giver] gives, for people.
const FromGiver = "loader(credentials=…) or hr.defaults"

// Giver gives credentials to the reads of a context, in place of those of the
// environment.
type Giver struct {
	// Ask returns the credentials for the names of a scheme, which is one of Schemes.
	Ask     func(ctx context.Context, scheme string) (Given, error)
	Schemes []string

	mu   sync.Mutex
	kept map[string]any // guarded by mu
}

type giverKey struct{}

// WithGiver returns a context whose reads have credentials of a giver.
func WithGiver(ctx context.Context, g *Giver) context.Context {
	return context.WithValue(ctx, giverKey{}, g)
}

// GiverOf returns the value that a store has made of the giver of a context, by make if
// it is the first time; ok: the context has a giver for the scheme.
func GiverOf[T any](ctx context.Context, scheme string, make func(*Giver) T) (is T, ok bool) {
	g, _ := ctx.Value(giverKey{}).(*Giver)
	if g == nil || !slices.Contains(g.Schemes, scheme) {
		return is, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.kept == nil {
		g.kept = map[string]any{}
	}
	is, ok = g.kept[scheme].(T)
	if !ok {
		is = make(g)
		g.kept[scheme] = is
	}
	return is, true
}
