package progress

import (
	"cmp"
	"maps"
	"slices"
)

// A Tracker knows what a run has finished: the positions of each source, and the items of
// which some outputs are finished and others not.
type Tracker struct {
	Names    []string       // of the sources
	salts    []uint64       // hashes of these
	sources  []*PositionSet // of the sources, by number
	turns    map[string]*Children
	open     []*Children          // those with children of which some are finished, and not all, in the order of their items
	partial  []PartState          // of those in open, what a state says; of those in stale it is old
	stale    []*Children          // those that have changed since a state was asked for; they may be open no more
	saved    map[string]PartState // the same of the state that the run was resumed from, as far as none of these was finished since
	pending  []PendingLoss        // losses that were finished with what they are a part of, and are to be reported
	known    map[string]Memory    // of aggregators that remember something
	perStage map[string]int64     // of stages with a policy of their own, how many items of this epoch they have lost
}

// A PendingLoss is a loss that was finished with what it is a part of, and is to be
// reported. Newly is how many source items it has of which nothing was lost before.
type PendingLoss struct {
	LostInput
	Newly int64
}

// NewTracker goes on where a state was. Sources and merges are added to it.
func NewTracker(resumed State) *Tracker {
	b := &Tracker{turns: make(map[string]*Children), saved: make(map[string]PartState),
		perStage: maps.Clone(resumed.Losses), known: maps.Clone(resumed.Memories)}
	for _, p := range resumed.Parts {
		b.saved[p.Stage+partKey(p.Source, p.Item)] = p
	}
	return b
}

// AddSource puts a source into the tracker, which goes on where a state was. It returns
// its number.
func (b *Tracker) AddSource(name string, saved SourceState) int {
	b.Names = append(b.Names, name)
	b.salts = append(b.salts, saltOf(name))
	b.sources = append(b.sources, NewPositionSet(saved))
	return len(b.sources) - 1
}

// AddTurns puts a merge that goes by turns into the tracker, which goes on where a state
// was.
func (b *Tracker) AddTurns(merge string, saved Progress) *Children {
	b.turns[merge] = NewTurns(merge, saved)
	return b.turns[merge]
}

// Source is the name of that of a place.
func (b *Tracker) Source(place int64) string { return b.Names[SourceOf(place)] }

// Epoch is the one that is being read. All sources are in the same.
func (b *Tracker) Epoch() int { return b.sources[0].epoch }

// Resumed is what of a source was finished, and lost, before the run was resumed; last is
// the place that was lost last.
func (b *Tracker) Resumed(source int) (finished, lost, last int64) {
	l := b.sources[source]
	if lost = int64(len(l.lost)); lost > 0 {
		last = Place(source, l.lost[lost-1])
	}
	return l.Finished(), lost, last
}

// Finish records that what a message means is finished. It returns how many source
// items that has finished.
func (b *Tracker) Finish(t *Lineage) (n int64) {
	if t.Lo < t.Hi {
		b.sources[SourceOf(t.Lo)].finish(Range{PositionOf(t.Lo), PositionOf(t.Hi)})
		n = t.positions()
	}
	if t.extra == nil {
		return n
	}
	for _, s := range t.extra.spans {
		b.sources[SourceOf(s.Lo)].finish(Range{PositionOf(s.Lo), PositionOf(s.Hi)})
		n += s.positions()
	}
	for _, s := range t.extra.children {
		n += b.finishShare(s)
	}
	for _, l := range t.extra.losses {
		b.pending = append(b.pending, PendingLoss{l, b.NewlyLost(&l.Of)})
		b.Lose(l)
	}
	return n
}

// TakePending returns the losses that are to be reported.
func (b *Tracker) TakePending() []PendingLoss {
	due := b.pending
	b.pending = nil
	return due
}

func (b *Tracker) finishShare(s childRange) int64 {
	f := s.of
	if len(b.saved) > 0 && !f.turns {
		source, item := f.parent.path()
		delete(b.saved, f.stage+partKey(b.Names[source], item))
	}

	f.done.finish(s.Range)
	if f.turns {
		if b.turns[f.stage] = f; f.log != nil {
			f.log.finished(f.done.Low)
		}
		return 0
	}

	if s.closes {
		f.total = s.Hi
	}
	if f.total == 0 || f.done.Low < f.total || f.order != nil && f.order.wait(f) {
		b.begin(f)
		b.changed(f)
		return 0
	}

	n := int64(0)
	for f != nil {
		b.end(f)
		n += b.Finish(&f.parent)
		f = b.remember(f)
	}
	return n
}

// remember notes what an aggregator knew after a group of children that has ended. It
// returns the group of children that waited for this one; nil: none did.
func (b *Tracker) remember(f *Children) *Children {
	if f.order == nil {
		return nil
	}
	if b.known == nil {
		b.known = make(map[string]Memory)
	}
	next := f.order.next()
	b.known[f.stage] = Memory{f.order.Ended, f.state}
	return next
}

// begin puts a group of children among those that are open.
func (b *Tracker) begin(f *Children) {
	if f.open {
		return
	}
	f.open = true
	f.source, f.item = f.parent.path()
	at, _ := slices.BinarySearchFunc(b.open, f, (*Children).before)
	b.open = slices.Insert(b.open, at, f)
	b.partial = slices.Insert(b.partial, at, PartState{Stage: f.stage, Source: b.Names[f.source], Item: slices.Clip(f.item)})
}

// changed notes that more of a group of children is finished.
func (b *Tracker) changed(f *Children) {
	if f.stale {
		return
	}
	f.stale = true
	if len(b.stale) > 2*len(b.open)+64 {
		b.stale = slices.DeleteFunc(b.stale, func(f *Children) bool { return !f.open })
	}
	b.stale = append(b.stale, f)
}

func (b *Tracker) end(f *Children) {
	if !f.open {
		return
	}
	f.open = false
	at, _ := slices.BinarySearchFunc(b.open, f, (*Children).before)
	b.open, b.partial = slices.Delete(b.open, at, at+1), slices.Delete(b.partial, at, at+1)
}

// NewlyLost counts the source items of a lineage of which nothing was lost before.
func (b *Tracker) NewlyLost(t *Lineage) (n int64) {
	t.Origins(func(s Range) {
		for at := s.Lo; at < s.Hi; at++ {
			if !b.sources[SourceOf(at)].lostAt(PositionOf(at)) {
				n++
			}
		}
	})
	return n
}

// Lose notes that something was lost of the source items that it is about.
func (b *Tracker) Lose(l LostInput) {
	if stage := l.Why.CountedBy(); stage != "" {
		if b.perStage == nil {
			b.perStage = make(map[string]int64)
		}
		b.perStage[stage]++
	}
	l.Of.Origins(func(s Range) {
		for at := s.Lo; at < s.Hi; at++ {
			b.sources[SourceOf(at)].lose(PositionOf(at))
		}
	})
}

// NextEpoch begins the next epoch.
func (b *Tracker) NextEpoch() {
	for _, l := range b.sources {
		l.next()
	}
	clear(b.open)
	clear(b.partial)
	clear(b.stale)
	b.open, b.partial, b.stale = b.open[:0], b.partial[:0], b.stale[:0]
	clear(b.saved)
	clear(b.perStage)
	clear(b.known)
	for name := range b.turns {
		b.turns[name] = NewTurns(name, Progress{})
	}
}

// State is what a run can go on from.
func (b *Tracker) State() State {
	s := State{Version: StateVersion, Sources: make(map[string]SourceState, len(b.sources))}
	for i, l := range b.sources {
		s.Sources[b.Names[i]] = l.state()
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
	for name, f := range b.turns {
		if f.log == nil {
			continue
		}
		if m := f.log.memory(f.done.progress()); m.Groups > 0 {
			if s.Memories == nil {
				s.Memories = make(map[string]Memory)
			}
			s.Memories[name] = m
		}
	}
	if len(b.perStage) > 0 {
		s.Losses = maps.Clone(b.perStage)
	}
	return s
}

// parts are what is half done, in the order of the items.
func (b *Tracker) parts() (all []PartState) {
	if len(b.open)+len(b.saved) == 0 {
		return nil
	}
	for _, f := range b.stale {
		if f.stale = false; f.open {
			at, _ := slices.BinarySearchFunc(b.open, f, (*Children).before)
			if b.partial[at].Progress = f.done.progress(); b.partial[at].Of == nil {
				b.partial[at].Of = b.composition(&f.parent)
			}
		}
	}
	clear(b.stale)
	b.stale = b.stale[:0]

	all = append(slices.Clone(b.partial), b.origins()...)
	if len(b.saved) == 0 && len(all) == len(b.partial) {
		return all
	}
	for _, p := range b.saved {
		all = append(all, p)
	}
	slices.SortFunc(all, func(x, y PartState) int {
		return cmp.Or(slices.Index(b.Names, x.Source)-slices.Index(b.Names, y.Source), slices.Compare(x.Item, y.Item),
			cmp.Compare(x.Stage, y.Stage))
	})
	return all
}

// origins are those items that were put together, and of which outputs are in what is
// half done, but none is finished: when they come again, they have to be the same, too.
func (b *Tracker) origins() (all []PartState) {
	var known map[*Children]bool
	var visit func(s childRange)
	visit = func(s childRange) {
		f := s.of
		if known[f] {
			return
		}
		if known == nil {
			known = make(map[*Children]bool)
		}
		known[f] = true
		f.parent.own(visit)
		if f.open || !f.parent.joined() {
			return
		}
		source, item := f.parent.path()
		if _, ok := b.saved[f.stage+partKey(b.Names[source], item)]; !ok {
			all = append(all, PartState{Stage: f.stage, Source: b.Names[source], Item: item, Of: b.composition(&f.parent)})
		}
	}
	for _, f := range b.open {
		f.parent.own(visit)
	}
	return all
}
