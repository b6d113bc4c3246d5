package python

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/sample"
)

// trials are what functions have made of samples while a loader was opened, to find out
// what they give. The run has these as they are, so a function that was tried is not
// called for the same sample again.
type trials struct {
	some atomic.Bool // there are any
	mu   sync.Mutex
	all  map[trialKey]*trial // guarded by mu
	size int                 // guarded by mu: bytes of all
	left int                 // guarded by mu: calls of the run after which they are forgotten
}

// trialKey is a function and the sample that it was called with.
type trialKey struct {
	function string
	id       sample.ID // without its place in an epoch
}

func keyOf(function string, id sample.ID) trialKey {
	id.Pos = 0
	return trialKey{function, id}
}

// trial is a call that was made.
type trial struct {
	in, out []extern.Value // in memory of their own; in as it was before the call
	names   []string
	keep    bool
	links   []extern.LinkStats
	call    extern.Call // its Took, Random and Keys
}

const (
	mostTrials = 16 << 20 // bytes that are kept
	lastTrial  = 1 << 14  // calls of a run after which a sample that was tried is not expected any more
)

// begin notes a call of a trial before it is made; nil: it is none.
func (h *Host) begin(p *extern.Pool, c *extern.Call) *trial {
	if h == nil || !h.probes || c.Rows > 0 {
		return nil
	}
	t := &trial{links: p.Links(), call: extern.Call{Random: c.Random, Keys: slices.Clone(c.Keys)}}
	for _, v := range c.In {
		t.in = append(t.in, own(v))
	}
	return t
}

// keep keeps what came of a call, unless it has changed what it was given and does not
// say so.
func (h *Host) keep(name string, p *extern.Pool, c *extern.Call, t *trial, gives sample.Schema) {
	if p.Draws() && c.Random == [2]uint64{} && c.Keys == nil {
		return // it has drawn without the sample's key, and draws something else in the run
	}
	for i := range c.In {
		if !bytes.Equal(c.In[i].Data, t.in[i].Data) && !slices.Contains(c.Same, i) {
			return
		}
	}

	for _, v := range slices.Concat(c.In, c.Out) {
		if h.Heap.Keeps(v.Data) {
			return // a first sample leaves no objects behind
		}
	}

	size := 0
	for i, v := range c.Out {
		if c.Same[i] >= 0 {
			v = c.In[c.Same[i]]
		}
		t.out = append(t.out, own(v))
	}
	for _, v := range append(t.in[:len(t.in):len(t.in)], t.out...) {
		size += len(v.Data) + len(v.Text)
	}
	if t.names = gives.Names(); gives == nil {
		t.names = slices.Clone(c.Names)
	}
	t.keep, t.call.Took = c.Keep, c.Took
	for i, now := range p.Links() { // which other trials beside this one have called too
		t.links[i].Calls, t.links[i].Time = min(1, now.Calls-t.links[i].Calls), min(c.Took, now.Time-t.links[i].Time)
	}

	s := &h.trials
	s.mu.Lock()
	defer s.mu.Unlock()
	// Without room the result is forgotten, and the run calls the function again.
	if s.size+size > mostTrials {
		return
	}
	if s.all == nil {
		s.all = map[trialKey]*trial{}
	}
	s.size, s.left = s.size+size, lastTrial
	s.all[keyOf(name, c.ID)] = t
	s.some.Store(true)
}

// recall gives a call the results of one that was made with the same sample. Gives
// are its results; nil: they are not known, and all that can be known is that it was not
// kept.
func (h *Host) recall(name string, p *extern.Pool, c *extern.Call, gives sample.Schema) bool {
	if h == nil || !h.trials.some.Load() {
		return false
	}
	t := h.trials.find(keyOf(name, c.ID), !h.probes)
	if t == nil || len(t.in) != len(c.In) {
		return false
	}
	if known := gives != nil && len(t.out) == len(gives); t.keep && !known {
		return false
	}
	drew := t.call.Random != [2]uint64{} || len(t.call.Keys) > 0 // a source that was asked for its first sample has no key
	if drew && (t.call.Random != c.Random || !slices.Equal(t.call.Keys, c.Keys)) {
		return false
	}
	for i := range c.In {
		if !same(&t.in[i], &c.In[i]) {
			return false
		}
	}

	// Nothing is copied before all results are known to fit: a call is recalled whole, or
	// made again.
	var order []int
	for i, f := range gives {
		if !t.keep {
			break
		}
		k := slices.Index(t.names, f.Name)
		hasRow := i < len(c.Room) && c.Room[i] != nil
		switch {
		case k < 0, t.out[k].Kind != f.Type.Kind, t.out[k].DType != f.Type.DType,
			hasRow && len(t.out[k].Data) > len(c.Room[i]):
			return false
		}
		order = append(order, k)
	}

	c.Keep, c.Took = t.keep, t.call.Took
	c.Out, c.Same = c.Out[:0], c.Same[:0]
	for i, k := range order {
		c.Out, c.Same = append(c.Out, h.copied(c, i, t.out[k])), append(c.Same, -1)
	}
	p.Made(c, t.links)
	c.Took = 0 // it was before the run
	return true
}

// copied returns result i of a call in the row that it has, or in memory of its own.
func (h *Host) copied(c *extern.Call, i int, v extern.Value) extern.Value {
	if v.Kind == sample.Text {
		return v
	}
	var memory []byte
	if i < len(c.Room) && c.Room[i] != nil {
		memory = c.Room[i][:len(v.Data)]
	} else {
		memory = h.Heap.Take(len(v.Data))
	}
	copy(memory, v.Data)
	v.Data = memory
	return v
}

// find returns the trial of a call; a run needs it once.
func (s *trials) find(k trialKey, once bool) *trial {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.all[k]
	if once {
		delete(s.all, k)
		if s.left--; s.left <= 0 || len(s.all) == 0 {
			s.all = nil
			s.some.Store(false)
		}
	}
	return t
}

// has reports whether one of some functions was tried with a sample. A run asks about
// each of its samples once.
func (s *trials) has(id sample.ID, functions ...string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range functions {
		if s.all[keyOf(name, id)] != nil {
			return true
		}
	}
	if s.left--; s.left <= 0 {
		s.all = nil
		s.some.Store(false)
	}
	return false
}

// Forget has the run call functions for samples that were tried, too: what they give may
// be something else by now.
func (h *Host) Forget() {
	if h == nil {
		return
	}
	s := &h.trials
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = nil
	s.some.Store(false)
}

// own is a value in memory of its own.
func own(v extern.Value) extern.Value {
	v.Data, v.Shape = slices.Clone(v.Data), slices.Clone(v.Shape)
	return v
}

func same(a, b *extern.Value) bool {
	sameType := a.Kind == b.Kind && a.DType == b.DType && a.Shape.Equal(b.Shape)
	return sameType && a.Text == b.Text && bytes.Equal(a.Data, b.Data)
}
