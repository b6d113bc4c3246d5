// Package links is chains of functions: what workers learn of them, and what these say
// of their calls.
package links

import (
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"headrace/extern/internal/message"
	"headrace/extern/internal/shared"
	"headrace/sample"
)

// Link is a function of a chain.
type Link struct {
	Step     string // its name
	Function string
	Filters  bool // false of it drops the sample
	Reads    bool // the first one alone: an object that is asked for obj[Call.ID.Index]

	Fields []string      // whose values it is given as arguments; nil: a dict of all fields
	To     []string      // Fields: the names of what it returns; nil: Fields
	Gives  sample.Schema // what it returns, with every field; nil: whatever it is
	Checks bool          // what it returns must be that. What the whole chain gives must be in any case
	Seed   []string      // generators that are seeded for each sample
	Copy   bool          // it may keep what it is given: arrays that the function before it has returned are copied
}

// Stats are counts of one function.
type Stats struct {
	Step  string
	Calls int64
	Time  time.Duration // that its calls took
}

// Chain is functions that are called one after the other.
type Chain []*link

// link is a function as workers learn of it, with what they say of its calls.
type link struct {
	Link
	pickle []byte // in the heap; nil: the function is imported
	calls  atomic.Int64
	time   atomic.Int64 // ns
}

// New makes a chain. Pickled puts the pickle of a function into the heap.
func New(all []Link, pickled func(function string) []byte) (c Chain) {
	for _, l := range all {
		c = append(c, &link{Link: l, pickle: pickled(l.Function)})
	}
	return c
}

// Reads tells whether the first of them reads samples by their numbers.
func (c Chain) Reads() bool { return len(c) > 0 && c[0].Link.Reads }

// Step is the name of the i-th function's step, or another one where there is none of
// that number.
func (c Chain) Step(i uint64, other string) string {
	if i < uint64(len(c)) {
		return c[i].Link.Step
	}
	return other
}

// Has tells whether one of them is a step's.
func (c Chain) Has(step string) bool {
	return slices.ContainsFunc(c, func(l *link) bool { return l.Step == step })
}

// Count adds what a worker says of the functions' calls.
func (c Chain) Count(r *message.Results) {
	for i := range c {
		calls, took := r.Link(i)
		c[i].add(calls, took)
	}
}

// Add adds counts of all functions.
func (c Chain) Add(all []Stats) {
	for i := range c {
		c[i].add(all[i].Calls, all[i].Time)
	}
}

func (l *link) add(calls int64, took time.Duration) {
	l.calls.Add(calls)
	l.time.Add(int64(took))
}

// Stats are the counts.
func (c Chain) Stats() (all []Stats) {
	for _, l := range c {
		all = append(all, Stats{l.Link.Step, l.calls.Load(), time.Duration(l.time.Load())})
	}
	return all
}

// Setup tells a worker of the functions.
func (c Chain) Setup(heap *shared.Heap) (all []message.SetupLink, err error) {
	for _, l := range c {
		s := message.SetupLink{Step: l.Link.Step, Function: l.Function, Kind: "map", Fields: l.Fields, To: l.To, Gives: message.FieldsOf(l.Gives), Checks: l.Checks, Seed: l.Seed, Copy: l.Copy}
		switch {
		case l.Filters:
			s.Kind = "filter"
		case l.Reads:
			s.Kind = "index"
		}
		if s.Pickle, err = Place(heap, l.pickle); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// Pickles are what the functions have in the heap.
func (c Chain) Pickles() (all [][]byte) {
	for _, l := range c {
		all = append(all, l.pickle)
	}
	return all
}

// Place says where in the heap a pickle is; nil: there is none.
func Place(heap *shared.Heap, pickle []byte) (*[2]int, error) {
	if pickle == nil {
		return nil, nil
	}
	at, ok := heap.Offset(pickle)
	if !ok {
		return nil, errors.New("extern: the heap has no room for the function's pickle")
	}
	return &[2]int{int(at), len(pickle)}, nil
}
