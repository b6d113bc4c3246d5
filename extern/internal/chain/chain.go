// Package chain provides chains of functions: their descriptions for workers, and the
// counts of their calls.
package chain

import (
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/extern/internal/message"
	"github.com/headrace/headrace/extern/internal/shared"
	"github.com/headrace/headrace/sample"
)

// Function is one function of a chain.
type Function struct {
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

// Stats counts the calls of one function.
type Stats struct {
	Step  string
	Calls int64
	Time  time.Duration // that its calls took
}

// Chain lists functions that are called one after the other.
type Chain []*member

// member is a function of a chain with its pickle and the counts of its calls.
type member struct {
	Function
	pickle []byte // in the heap; nil: the function is imported
	calls  atomic.Int64
	time   atomic.Int64 // ns
}

// New returns a chain. pickled copies the pickle of a function into the heap.
func New(all []Function, pickled func(function string) []byte) (c Chain) {
	for _, f := range all {
		c = append(c, &member{Function: f, pickle: pickled(f.Function)})
	}
	return c
}

// Reads reports whether the first function reads samples by number.
func (c Chain) Reads() bool { return len(c) > 0 && c[0].Function.Reads }

// Step returns the name of the i-th function's step, or other if there is no such
// function.
func (c Chain) Step(i uint64, other string) string {
	if i < uint64(len(c)) {
		return c[i].Function.Step
	}
	return other
}

// Has reports whether a function belongs to that step.
func (c Chain) Has(step string) bool {
	return slices.ContainsFunc(c, func(m *member) bool { return m.Step == step })
}

// Count adds the counts that a worker reports.
func (c Chain) Count(r *message.Results) {
	for i := range c {
		calls, took := r.ChainCounts(i)
		c[i].add(calls, took)
	}
}

// Add adds counts for all functions.
func (c Chain) Add(all []Stats) {
	for i := range c {
		c[i].add(all[i].Calls, all[i].Time)
	}
}

func (m *member) add(calls int64, took time.Duration) {
	m.calls.Add(calls)
	m.time.Add(int64(took))
}

// Stats returns the counts.
func (c Chain) Stats() (all []Stats) {
	for _, m := range c {
		all = append(all, Stats{m.Function.Step, m.calls.Load(), time.Duration(m.time.Load())})
	}
	return all
}

// Setup returns the worker's description of the functions.
func (c Chain) Setup(heap *shared.Heap) (all []message.SetupFunction, err error) {
	for _, m := range c {
		s := message.SetupFunction{Step: m.Step, Function: m.Function.Function, Kind: "map",
			Fields: m.Fields, To: m.To, Gives: message.FieldsOf(m.Gives), Checks: m.Checks, Seed: m.Seed, Copy: m.Copy}
		switch {
		case m.Filters:
			s.Kind = "filter"
		case m.Reads:
			s.Kind = "index"
		}
		if s.Pickle, err = PickleAt(heap, m.pickle); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// Pickles returns the functions' pickles in the heap.
func (c Chain) Pickles() (all [][]byte) {
	for _, m := range c {
		all = append(all, m.pickle)
	}
	return all
}

// PickleAt returns the offset and length of a pickle in the heap, or nil if there is
// none.
func PickleAt(heap *shared.Heap, pickle []byte) (*[2]int, error) {
	if pickle == nil {
		return nil, nil
	}
	at, ok := heap.Offset(pickle)
	if !ok {
		return nil, errors.New("extern: the heap has no room for the function's pickle")
	}
	return &[2]int{int(at), len(pickle)}, nil
}
