package resume

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/state"
)

// maxEpoch is the largest epoch that a record may name: JSON's numbers are exact up to
// there in every language.
const maxEpoch = 1 << 53

// Extent is what states of a run are held against.
type Extent struct {
	Begin  state.State                                               // the beginning of the run, with the place of all sources and merges
	Splits map[string]order.Split                                    // of an epoch, by source
	Of     func(source string, epoch int, s order.Split) order.Split // which differs where a sampler's epochs do; nil: never
	Items  map[string]order.Split                                    // of merges that end after a number of items
	Judges map[string]bool                                           // stages whose losses the pipeline counts
	From   state.State                                               // what is gone on from; nil sources: the beginning
	Steps  int64                                                     // batches that an epoch must have; 0: as many as there are
	Total  int64                                                     // samples of all sources
	Lanes  order.Lanes                                               // of the order; none: ranks have shares of it
	Turns  string                                                    // the stage that counts the batches of each lane; "": none
	Makes  bool                                                      // several samples may be made of one

	Changed map[string]func(was string) error // what is different about the shards of a source
}

// Len is the number of positions in the epoch of a place of the source.
func (e Extent) Len(name string, epoch int, at state.Source) int64 {
	return source.ShareOf(e.split(name, epoch), at.Done).Len()
}

// split is that of an epoch of a source.
func (e Extent) split(name string, epoch int) order.Split {
	if e.Of == nil {
		return e.Splits[name]
	}
	return e.Of(name, epoch, e.Splits[name])
}

// Fits says why from cannot be gone on with. A record without identity keys, such as a
// plain epoch number, fits.
func (e Extent) Fits(from state.State) error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{state.Err}, args...)...)
	}

	begin := e.Begin
	// Causes come before their effects: another recipe has other sources, too.
	switch {
	case from.Version != 0 && from.Version != state.Version:
		return refuse("it has version %d, this engine reads %d: begin at an epoch, "+
			"or go on with the engine that saved it", from.Version, state.Version)
	case from.Order != 0 && from.Order != order.Version:
		return refuse("its order algorithm is version %d, this engine has %d: another epoch "+
			"order would repeat some samples and miss others", from.Order, order.Version)
	case from.Recipe != "" && from.Recipe != begin.Recipe:
		return refuse("%s", differs(from.Steps, begin.Steps))
	case from.WorldSize != 0 && from.WorldSize != begin.WorldSize:
		return refuse("it was saved with world_size %d, this run has %d: what is left must be divided again (Gather)",
			from.WorldSize, begin.WorldSize)
	case from.WorldSize != 0 && from.Rank != begin.Rank:
		return refuse("it is the record of rank %d, this is rank %d", from.Rank, begin.Rank)
	case from.WorldSize != 0 && from.Part != begin.Part:
		return refuse("it was saved by a run of %s, this is one of %s", words(from.Part), words(begin.Part))
	case from.Epoch < 0 || from.Epoch > maxEpoch:
		return refuse("its epoch is %d", from.Epoch)
	}

	for _, step := range slices.Sorted(maps.Keys(begin.Files)) {
		if was, is := from.Files[step], begin.Files[step]; was != "" && was != is {
			return refuse("step %q has other files: there were %s, here are %s; with others, samples would be other ones",
				step, number(was), number(is))
		}
	}
	if err := e.checkSources(from, refuse); err != nil {
		return err
	}

	for _, i := range from.Quarantine {
		if i < 0 || i >= e.Total {
			return refuse("it quarantines index %d of %d samples", i, e.Total)
		}
	}
	for name, n := range from.Errors {
		if n < 0 || n > maxEpoch {
			return refuse("it counts %d errors in the stage %q", n, name)
		}
	}

	settled := e.Settled(from)
	yielded := settled.Yielded()
	if from.Dropped < 0 && !e.Makes || yielded < 0 {
		return refuse("it dropped %d samples, more than it had", from.Dropped)
	}
	if settled.Replaced < 0 || settled.Replaced > yielded {
		return refuse("it replaced %d samples of %d", from.Replaced, yielded)
	}
	return nil
}

// number returns the count with which a digest of files begins.
func number(files string) string {
	n, _, _ := strings.Cut(files, ":")
	return n
}

// words names a part for people.
func words(part string) string {
	if part == "" {
		return "all parts"
	}
	return "part " + part
}

// checkSources says what is wrong with the places. Those of merges and parts are the
// pipeline's to check.
func (e Extent) checkSources(from state.State, refuse func(string, ...any) error) error {
	if len(from.Sources) == 0 {
		switch {
		case len(from.Merges) > 0, len(from.Parts) > 0, remembers(from.Aggregates),
			from.Dropped != 0, from.Replaced != 0, from.Batches != 0, some(from.Errors):
			return refuse("it has no sources")
		}
		return nil
	}

	// In order, so that a state is always refused for the same reason.
	for _, name := range slices.Sorted(maps.Keys(from.Sources)) {
		if _, ok := e.Begin.Sources[name]; !ok {
			return refuse("it has a source %q, which the recipe lacks", name)
		}
	}

	for _, name := range slices.Sorted(maps.Keys(e.Begin.Sources)) {
		s, ok := from.Sources[name]
		if !ok {
			return refuse("it lacks the source %q", name)
		}
		if changed := e.Changed[name]; changed != nil && s.Shards != "" {
			if err := changed(s.Shards); err != nil {
				return refuse("its source %q: %w", name, err)
			}
		}
		if want := e.Begin.Sources[name].Samples; s.Samples != want && s.Samples != 0 {
			return refuse("its source %q had %d samples, this one has %d", name, s.Samples, want)
		}
		for i, want := range e.Begin.Sources[name].Of {
			if i < len(s.Of) && s.Of[i] != want { // older records have none
				return refuse("its source %q had %d samples of which some were chosen, this one has %d", name, s.Of[i], want)
			}
		}

		share, err := e.split(name, from.Epoch).Over(s.Done)
		if err == nil {
			err = checkPlace(s, share.Len())
		}
		if err != nil {
			return refuse("its %w of the source %q", err, name)
		}
		if err := checkObject(s, e.Begin.Sources[name].Object != nil); err != nil {
			return refuse("its place in the source %q: %w", name, err)
		}
	}

	if from.Batches < 0 {
		return refuse("it had %d batches", from.Batches)
	}
	return e.checkAggregates(from, refuse)
}

// checkAggregates says what is wrong with what the record says of objects that gather
// samples.
func (e Extent) checkAggregates(from state.State, refuse func(string, ...any) error) error {
	for _, name := range slices.Sorted(maps.Keys(from.Aggregates)) {
		m := from.Aggregates[name]
		if _, ok := e.Begin.Aggregates[name]; !ok {
			return refuse("it has an aggregate %q, which the recipe lacks", name)
		}
		switch {
		case m.Groups < 0 || m.Groups > maxEpoch || m.Groups == 0 && m.State != "":
			return refuse("its aggregate %q had made samples %d times", name, m.Groups)
		case m.Groups > 0 && m.State == "":
			return refuse("the object of %q had made samples %d times and has no state_dict(): "+
				"what it remembers cannot be restored; begin at an epoch, or give the object "+
				"state_dict() and load_state_dict()", name, m.Groups)
		case m.State != "" && (len(m.State) > mostObjectState || !json.Valid([]byte(m.State))):
			return refuse("the state of the object of %q must be JSON of at most %d bytes", name, mostObjectState)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.Begin.Aggregates)) {
		if _, ok := from.Aggregates[name]; !ok && !begins(from) {
			return refuse("it lacks the aggregate %q", name)
		}
	}
	return nil
}

func remembers(all map[string]pipe.Memory) bool {
	for _, m := range all {
		if m != (pipe.Memory{}) {
			return true
		}
	}
	return false
}

// checkPlace says what is wrong with the place in an epoch of n positions.
func checkPlace(s state.Source, n int64) error {
	if s.Position < 0 || s.Position > n {
		return fmt.Errorf("position is %d of an epoch of %d samples", s.Position, n)
	}
	end := s.Position
	for _, r := range s.Ahead {
		if r[0] < end || r[1] <= r[0] || r[1] > n {
			return fmt.Errorf("range %v is not beyond position %d, in order, and within the %d samples", r, end, n)
		}
		end = r[1]
	}
	for _, p := range s.Lost {
		if p < 0 || p >= n {
			return fmt.Errorf("lost position %d is not within the %d samples", p, n)
		}
	}
	for _, p := range s.Open {
		if !slices.Contains(s.Lost, p) {
			return fmt.Errorf("open position %d is not one of the lost", p)
		}
	}
	return nil
}

// some tells whether there is anything to count.
func some(errors map[string]int64) bool {
	for _, n := range errors {
		if n != 0 {
			return true
		}
	}
	return false
}

// Settled is the record as runs give it: whole, each loss once, and the end of an epoch
// as the beginning of the next. With another setting of fuse there are other stages: what
// was counted in those that are not here is forgotten.
func (e Extent) Settled(from state.State) state.State {
	s := e.Begin
	s.Epoch, s.Quarantine, s.Errors = from.Epoch, from.Quarantine, maps.Clone(s.Errors)

	if e.ended(from) {
		s.Epoch++
	} else if len(from.Sources) > 0 {
		s.Sources, s.Merges, s.Parts = from.Sources, from.Merges, from.Parts
		s.Aggregates = maps.Clone(s.Aggregates)
		for name := range s.Aggregates {
			s.Aggregates[name] = from.Aggregates[name]
		}
		s.Dropped, s.Replaced, s.Batches = from.Dropped, from.Replaced, from.Batches
		for name := range s.Errors {
			s.Errors[name] = from.Errors[name]
		}
	}

	s.Sources = e.settled(s.Sources)
	return s
}

// settled are the sources as runs give them, which others may hold. After each batch
// there is nothing to change in most of them, of which a mix may have thousands.
func (e Extent) settled(from state.Sources) state.Sources {
	all, own := from, false
	for name, was := range from {
		begin, at := e.Begin.Sources[name], was
		at.Samples, at.Of, at.Shards = begin.Samples, begin.Of, begin.Shards
		if at.Object == nil {
			at.Object = begin.Object
		}
		if len(at.Lost) > 0 {
			at.Lost = slices.Compact(slices.Sorted(slices.Values(at.Lost)))
		}

		changed := at.Samples != was.Samples || at.Shards != was.Shards || at.Object != was.Object
		if !changed && slices.Equal(at.Of, was.Of) && slices.Equal(at.Lost, was.Lost) {
			continue
		}
		if !own {
			all, own = maps.Clone(from), true
		}
		all[name] = at
	}
	return all
}

// ended tells whether all positions of all sources are finished.
func (e Extent) ended(s state.State) bool {
	if s.Batches < e.Steps {
		return false // it has nothing left, and too little: that is an error to come
	}
	some := false
	for name, at := range s.Sources {
		n := e.Len(name, s.Epoch, at)
		if at.Position < n {
			return false
		}
		some = some || n > 0 || len(at.Done) > 0
	}
	return some
}

// Resume is where the pipeline goes on. The record is settled.
func (e Extent) Resume(s state.State) pipe.State {
	p := pipe.State{Version: pipe.StateVersion, Sources: make(map[string]pipe.SourceState, len(s.Sources)),
		Merges: s.Merges, Parts: s.Parts}
	for name, at := range s.Sources {
		p.Sources[name] = pipe.SourceState{Epoch: s.Epoch, Low: at.Position, Ahead: at.Ahead, Lost: at.Lost, Open: at.Open}
	}
	for name, m := range s.Aggregates {
		if m.Groups > 0 {
			if p.Memories == nil {
				p.Memories = make(map[string]pipe.Memory, len(s.Aggregates))
			}
			p.Memories[name] = m
		}
	}
	for name := range e.Judges {
		if n := s.Errors[name]; n > 0 {
			if p.Losses == nil {
				p.Losses = make(map[string]int64, len(e.Judges))
			}
			p.Losses[name] = n
		}
	}
	return p
}

// At returns the record of the run at another place.
func (e Extent) At(p pipe.State) state.State {
	s := e.Begin
	s.Sources, s.Merges, s.Parts = make(map[string]state.Source, len(p.Sources)), p.Merges, p.Parts
	for name, at := range p.Sources {
		s.Epoch = at.Epoch
		begin := e.Begin.Sources[name]
		place := state.Source{Samples: begin.Samples, Of: begin.Of, Shards: begin.Shards,
			Position: at.Low, Ahead: at.Ahead, Lost: at.Lost, Open: at.Open}
		if at.Epoch == e.From.Epoch {
			place.Done = e.From.Sources[name].Done
		}
		s.Sources[name] = place
	}
	s.Aggregates = maps.Clone(s.Aggregates)
	for name := range s.Aggregates {
		s.Aggregates[name] = p.Memories[name]
	}
	s.Errors = maps.Clone(s.Errors)
	for name := range e.Judges {
		s.Errors[name] = p.Losses[name]
	}
	return s
}

// mostObjectState bounds what an object of Python says of itself.
const mostObjectState = 1 << 20

// checkObject says what is wrong with what the record says of an object. Only where it is
// iterated over should it.
func checkObject(s state.Source, iterated bool) error {
	o := s.Object
	switch {
	case !iterated && o == nil:
		return nil
	case !iterated:
		return errors.New("it has the state of an iterable, but the source is read by number")
	case s.Position == 0 && len(s.Done) == 0 && (o == nil || o.State == ""):
		return nil // it begins its epoch, in which those ahead do not come again
	case len(s.Done) > 0:
		return errors.New("the states of other ranks do not apply to an iterable")
	case o == nil || o.State == "":
		return fmt.Errorf("%d samples were read from an iterable without state_dict(): "+
			"the position cannot be found again; begin at an epoch, or give the object, "+
			"or what iter() makes of it, state_dict() and load_state_dict()", s.Position)
	case o.Position < 0 || o.Position > s.Position:
		return fmt.Errorf("its object had given %d samples, and %d were taken", o.Position, s.Position)
	case len(o.State) > mostObjectState || !json.Valid([]byte(o.State)):
		return fmt.Errorf("the state of its object must be JSON of at most %d bytes", mostObjectState)
	}
	return nil
}
