package pipe

import (
	"cmp"
	"maps"
	"slices"
)

// Books are what a run has finished: a ledger for each source, and what is half done.
type books struct {
	names []string  // of the sources
	salts []uint64  // hashes of these
	all   []*ledger // of the sources, by number
	turns map[string]*family
	open  []*family            // those with children of which some are finished, and not all, in the order of their items
	half  []PartState          // of those in open, what a state says; of those in stale it is old
	stale []*family            // those that have changed since a state was asked for; they may be open no more
	saved map[string]PartState // the same of the state that the run was resumed from, as far as none of these was finished since
	due   []dueLoss            // losses that were finished with what they are a part of, and are to be told
	known map[string]Memory    // of aggregators that remember something
	own   map[string]int64     // of stages with a policy of their own, how many items of this epoch they have lost
}

// A dueLoss is a loss, and how many source items it has of which nothing was lost before.
type dueLoss struct {
	trouble
	newly int64
}

func newBooks(resumed State) *books {
	b := &books{turns: make(map[string]*family), saved: make(map[string]PartState), own: maps.Clone(resumed.Losses), known: maps.Clone(resumed.Memories)}
	for _, p := range resumed.Parts {
		b.saved[p.Stage+partKey(p.Source, p.Item)] = p
	}
	return b
}

// finish records that what a message stands for is finished. It returns how many source items that has finished.
func (b *books) finish(t *ticket) (n int64) {
	if t.lo < t.hi {
		b.all[sourceOf(t.lo)].finish(span{posOf(t.lo), posOf(t.hi)})
		n = t.positions()
	}
	if t.rest == nil {
		return n
	}
	for _, s := range t.rest.spans {
		b.all[sourceOf(s.lo)].finish(span{posOf(s.lo), posOf(s.hi)})
		n += s.positions()
	}
	for _, s := range t.rest.shares {
		n += b.finishShare(s)
	}
	for _, l := range t.rest.losses {
		b.due = append(b.due, dueLoss{l, b.newlyLost(&l.ticket)})
		b.lose(&l)
	}
	return n
}

// takeDue returns the losses that are to be told.
func (b *books) takeDue() []dueLoss {
	due := b.due
	b.due = nil
	return due
}

func (b *books) finishShare(s share) int64 {
	f := s.family
	if len(b.saved) > 0 && !f.turns {
		source, item := f.parent.path()
		delete(b.saved, f.stage+partKey(b.names[source], item))
	}
	f.done.finish(s.span)
	if f.turns {
		b.turns[f.stage] = f
		return 0
	}
	if s.closes {
		f.total = s.hi
	}
	if f.total == 0 || f.done.low < f.total || f.line != nil && f.line.wait(f) {
		b.begin(f)
		b.changed(f)
		return 0
	}
	n := int64(0)
	for f != nil {
		b.end(f)
		n += b.finish(&f.parent)
		f = b.remember(f)
	}
	return n
}

// remember notes what an aggregator knew behind a family that has ended. It returns the family that waited for this one; nil: none did.
func (b *books) remember(f *family) *family {
	if f.line == nil {
		return nil
	}
	if b.known == nil {
		b.known = make(map[string]Memory)
	}
	next := f.line.next()
	b.known[f.stage] = Memory{f.line.ended, f.state}
	return next
}

// begin puts a family among those that are open.
func (b *books) begin(f *family) {
	if f.open {
		return
	}
	f.open = true
	f.source, f.item = f.parent.path()
	at, _ := slices.BinarySearchFunc(b.open, f, (*family).before)
	b.open = slices.Insert(b.open, at, f)
	b.half = slices.Insert(b.half, at, PartState{Stage: f.stage, Source: b.names[f.source], Item: slices.Clip(f.item)})
}

// changed notes that more of a family is finished.
func (b *books) changed(f *family) {
	if f.stale {
		return
	}
	f.stale = true
	if len(b.stale) > 2*len(b.open)+64 {
		b.stale = slices.DeleteFunc(b.stale, func(f *family) bool { return !f.open })
	}
	b.stale = append(b.stale, f)
}

func (b *books) end(f *family) {
	if !f.open {
		return
	}
	f.open = false
	at, _ := slices.BinarySearchFunc(b.open, f, (*family).before)
	b.open, b.half = slices.Delete(b.open, at, at+1), slices.Delete(b.half, at, at+1)
}

// newlyLost counts the source items of a ticket of which nothing was lost before.
func (b *books) newlyLost(t *ticket) (n int64) {
	t.origins(func(s span) {
		for at := s.lo; at < s.hi; at++ {
			if !b.all[sourceOf(at)].lostAt(posOf(at)) {
				n++
			}
		}
	})
	return n
}

// lose notes that something was lost of the source items that it is about.
func (b *books) lose(l *trouble) {
	if l.news.final {
		if b.own == nil {
			b.own = make(map[string]int64)
		}
		b.own[l.news.stage.name]++
	}
	l.ticket.origins(func(s span) {
		for at := s.lo; at < s.hi; at++ {
			b.all[sourceOf(at)].lose(posOf(at))
		}
	})
}

// next begins the next epoch.
func (b *books) next() {
	for _, l := range b.all {
		l.next()
	}
	clear(b.open)
	clear(b.half)
	clear(b.stale)
	b.open, b.half, b.stale = b.open[:0], b.half[:0], b.stale[:0]
	clear(b.saved)
	clear(b.own)
	clear(b.known)
	for name := range b.turns {
		b.turns[name] = newTurns(name, Progress{})
	}
}

func (b *books) state() State {
	s := State{Version: StateVersion, Sources: make(map[string]SourceState, len(b.all))}
	for i, l := range b.all {
		s.Sources[b.names[i]] = l.state()
	}
	for name, f := range b.turns {
		if s.Merges == nil {
			s.Merges = make(map[string]Progress)
		}
		s.Merges[name] = f.done.progress()
	}
	s.Parts = b.parts()
	if len(b.known) > 0 {
		s.Memories = maps.Clone(b.known)
	}
	if len(b.own) > 0 {
		s.Losses = maps.Clone(b.own)
	}
	return s
}

// parts are what is half done, in the order of the items.
func (b *books) parts() (all []PartState) {
	if len(b.open)+len(b.saved) == 0 {
		return nil
	}
	for _, f := range b.stale {
		if f.stale = false; f.open {
			at, _ := slices.BinarySearchFunc(b.open, f, (*family).before)
			if b.half[at].Progress = f.done.progress(); b.half[at].Of == nil {
				b.half[at].Of = b.composition(&f.parent)
			}
		}
	}
	clear(b.stale)
	b.stale = b.stale[:0]
	all = append(slices.Clone(b.half), b.origins()...)
	if len(b.saved) == 0 && len(all) == len(b.half) {
		return all
	}
	for _, p := range b.saved {
		all = append(all, p)
	}
	slices.SortFunc(all, func(x, y PartState) int {
		return cmp.Or(slices.Index(b.names, x.Source)-slices.Index(b.names, y.Source), slices.Compare(x.Item, y.Item), cmp.Compare(x.Stage, y.Stage))
	})
	return all
}

// origins are those items that were put together, and of which outputs are in what is half done, but none is finished: when they come again, they
// have to be the same, too.
func (b *books) origins() (all []PartState) {
	var known map[*family]bool
	var visit func(s share)
	visit = func(s share) {
		f := s.family
		if known[f] {
			return
		}
		if known == nil {
			known = make(map[*family]bool)
		}
		known[f] = true
		f.parent.own(visit)
		if f.open || !f.parent.joined() {
			return
		}
		source, item := f.parent.path()
		if _, ok := b.saved[f.stage+partKey(b.names[source], item)]; !ok {
			all = append(all, PartState{Stage: f.stage, Source: b.names[source], Item: item, Of: b.composition(&f.parent)})
		}
	}
	for _, f := range b.open {
		f.parent.own(visit)
	}
	return all
}
