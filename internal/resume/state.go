package resume

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"headrace/internal/source"
	"headrace/order"
	"headrace/pipe"
)

// StateVersion is the version of [State]'s form.
const Version = 2

// State is the place of a run between two batches: everything before it was yielded or
// lost, nothing else. It is small, readable JSON; docs/protocol.md states it.
type State struct {
	Version   int    `json:"version"`
	Order     int    `json:"order"`      // version of the order algorithm
	Decoder   string `json:"decoder"`    // what decoded the images
	Recipe    string `json:"recipe"`     // fingerprint of the recipe
	WorldSize int    `json:"world_size"` // positions count one rank's share
	Rank      int    `json:"rank"`       // whose record it is
	InStep    bool   `json:"in_step"`    // all ranks have the same batches at every moment, so that the record of one tells of all

	Steps []string `json:"steps,omitempty"` // outline of the recipe: names the step that differs; older records have none

	Epoch   int                      `json:"epoch"`
	Batches int64                    `json:"batches,omitempty"` // that this epoch had so far
	Sources map[string]SourceState   `json:"sources,omitempty"` // by the names of their steps; none: the beginning of the epoch
	Merges  map[string]pipe.Progress `json:"merges,omitempty"`  // turns that are finished, of merges that go by turns
	Parts   []pipe.PartState         `json:"parts,omitempty"`   // samples of which several were made, and some are finished

	Aggregates map[string]pipe.Memory `json:"aggregates,omitempty"` // of objects of Python that gather samples, by their steps: what is finished of what they made, and what they said of themselves then

	Replaced int64            `json:"replaced,omitempty"` // how many of the samples yielded in this epoch came instead of others
	Dropped  int64            `json:"dropped,omitempty"`  // how many of the finished positions operations dropped on purpose; where they make several samples of one, less what came of that
	Errors   map[string]int64 `json:"errors,omitempty"`   // of stages that have a max_errors of their own: how many samples of this epoch were lost or replaced there

	Quarantine []int64 `json:"quarantine,omitempty"` // samples that are never tried, for they crashed an engine: indices, those of the recipe's sources one after the other
}

// SourceState is how far one source has come. Its positions count this rank's share of
// its epoch.
type SourceState struct {
	Samples  int64      `json:"samples"`         // in the source; 0: nobody knows, or there are none
	Position int64      `json:"position"`        // every position before it is finished
	Ahead    [][2]int64 `json:"ahead,omitempty"` // half-open ranges beyond it that are finished
	Lost     []int64    `json:"lost,omitempty"`  // positions lost in this epoch
	Open     []int64    `json:"open,omitempty"`  // those of Lost of which something else was made that is not finished
	Done     [][2]int64 `json:"done,omitempty"`  // half-open ranges of the epoch's order, that of all ranks, finished under another world size; positions count the rest

	Object *source.ObjectState `json:"object,omitempty"` // of an object of Python that is iterated over
	Shards string              `json:"shards,omitempty"` // what the shards were that it reads
}

// maxEpoch is the largest epoch that a record may name: JSON's numbers are exact up to
// there in every language.
const maxEpoch = 1 << 53

// ErrState marks a state that does not fit what is to be run.
var ErrState = errors.New("headrace: state does not fit")

// Until is a place up to which samples are tried one at a time: every position before
// those that it names, of an epoch.
type Until struct {
	Epoch     int64
	Positions map[string]int64 // by source
}

// Passed tells whether all is finished that is before u.
func (u Until) Passed(s State) bool {
	if int64(s.Epoch) != u.Epoch {
		return int64(s.Epoch) > u.Epoch
	}
	for name, pos := range u.Positions {
		if s.Sources[name].Position < pos {
			return false
		}
	}
	return true
}

// Extent is what states of a run are held against.
type Extent struct {
	Begin  State                                                     // the beginning of the run, with the place of all sources and merges
	Splits map[string]order.Split                                    // of an epoch, by source
	Of     func(source string, epoch int, s order.Split) order.Split // which differs where a sampler's epochs do; nil: never
	Items  map[string]order.Split                                    // of merges that end after a number of items
	Judges map[string]bool                                           // stages whose losses the pipeline counts
	From   State                                                     // what is gone on from; nil sources: the beginning
	Steps  int64                                                     // batches that an epoch must have; 0: as many as there are
	Makes  bool                                                      // several samples may be made of one

	Changed map[string]func(was string) error // what is different about the shards of a source
}

// Len is the number of positions in the epoch of a place of the source.
func (e Extent) Len(name string, epoch int, at SourceState) int64 {
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
func (e Extent) Fits(from State) error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrState}, args...)...)
	}

	begin := e.Begin
	switch {
	case from.Version != 0 && from.Version != Version:
		return refuse("it has version %d, this engine reads %d: begin at an epoch, or go on with the engine that saved it", from.Version, Version)
	case from.Order != 0 && from.Order != order.Version:
		return refuse("its order algorithm is version %d, this engine has %d: another epoch order would repeat some samples and miss others", from.Order, order.Version)
	case from.Recipe != "" && from.Recipe != begin.Recipe:
		return refuse("%s", differs(from.Steps, begin.Steps))
	case from.WorldSize != 0 && from.WorldSize != begin.WorldSize:
		return refuse("it was saved with world_size %d, this run has %d: what is left must be divided again (Gather)", from.WorldSize, begin.WorldSize)
	case from.WorldSize != 0 && from.Rank != begin.Rank:
		return refuse("it is the record of rank %d, this is rank %d", from.Rank, begin.Rank)
	case from.Epoch < 0 || from.Epoch > maxEpoch:
		return refuse("its epoch is %d", from.Epoch)
	}

	if err := e.checkSources(from, refuse); err != nil {
		return err
	}

	for _, i := range from.Quarantine {
		if i < 0 || i >= e.samples() {
			return refuse("it quarantines index %d of %d samples", i, e.samples())
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

// checkSources says what is wrong with the places. Those of merges and parts are the
// pipeline's to check.
func (e Extent) checkSources(from State, refuse func(string, ...any) error) error {
	if len(from.Sources) == 0 {
		if len(from.Merges) > 0 || len(from.Parts) > 0 || remembers(from.Aggregates) || from.Dropped != 0 || from.Replaced != 0 || from.Batches != 0 || some(from.Errors) {
			return refuse("it has no sources")
		}
		return nil
	}

	for _, name := range appendNames(nil, from.Sources) {
		if _, ok := e.Begin.Sources[name]; !ok {
			return refuse("it has a source %q, which the recipe lacks", name)
		}
	}

	for _, name := range appendNames(nil, e.Begin.Sources) {
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

		share, err := e.split(name, from.Epoch).Over(s.Done)
		if err == nil {
			err = s.check(share.Len())
		}
		if err != nil {
			return refuse("its %w of the source %q", err, name)
		}
		if err := s.checkObject(e.Begin.Sources[name].Object != nil); err != nil {
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
func (e Extent) checkAggregates(from State, refuse func(string, ...any) error) error {
	for _, name := range appendNames(nil, from.Aggregates) {
		m := from.Aggregates[name]
		if _, ok := e.Begin.Aggregates[name]; !ok {
			return refuse("it has an aggregate %q, which the recipe lacks", name)
		}
		switch {
		case m.Groups < 0 || m.Groups > maxEpoch || m.Groups == 0 && m.State != "":
			return refuse("its aggregate %q had made samples %d times", name, m.Groups)
		case m.Groups > 0 && m.State == "":
			return refuse("the object of %q had made samples %d times and has no state_dict(): what it remembers cannot be restored; begin at an epoch, or give the object state_dict() and load_state_dict()", name, m.Groups)
		case m.State != "" && (len(m.State) > mostObjectState || !json.Valid([]byte(m.State))):
			return refuse("the state of the object of %q must be JSON of at most %d bytes", name, mostObjectState)
		}
	}
	for _, name := range appendNames(nil, e.Begin.Aggregates) {
		if _, ok := from.Aggregates[name]; !ok && !from.begins() {
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

// check says what is wrong with the place in an epoch of n positions.
func (s SourceState) check(n int64) error {
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
func (e Extent) Settled(from State) State {
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

	s.Sources = maps.Clone(s.Sources) // others may hold it
	for name, at := range s.Sources {
		at.Samples, at.Shards = e.Begin.Sources[name].Samples, e.Begin.Sources[name].Shards
		if at.Object == nil {
			at.Object = e.Begin.Sources[name].Object
		}
		at.Lost = slices.Compact(slices.Sorted(slices.Values(at.Lost)))
		s.Sources[name] = at
	}
	return s
}

// ended tells whether all positions of all sources are finished.
func (e Extent) ended(s State) bool {
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
func (e Extent) Resume(s State) pipe.State {
	p := pipe.State{Version: pipe.StateVersion, Sources: make(map[string]pipe.SourceState, len(s.Sources)), Merges: s.Merges, Parts: s.Parts}
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
func (e Extent) At(p pipe.State) State {
	s := e.Begin
	s.Sources, s.Merges, s.Parts = make(map[string]SourceState, len(p.Sources)), p.Merges, p.Parts
	for name, at := range p.Sources {
		s.Epoch = at.Epoch
		place := SourceState{Samples: e.Begin.Sources[name].Samples, Shards: e.Begin.Sources[name].Shards, Position: at.Low, Ahead: at.Ahead, Lost: at.Lost, Open: at.Open}
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

// samples is the number of them in all sources.
func (e Extent) samples() (n int64) {
	for _, s := range e.Splits {
		n += s.Samples
	}
	return n
}

// LostSamples is the number of samples lost in the epoch. The record is settled.
func (s State) LostSamples() (n int64) {
	for _, at := range s.Sources {
		n += int64(len(at.Lost))
	}
	return n
}

// Yielded is the number of samples that the epoch had yielded. The record is settled.
func (s State) Yielded() (n int64) {
	for _, at := range s.Sources {
		n += at.Position
		for _, r := range at.Ahead {
			n += r[1] - r[0]
		}
		for _, p := range at.Lost {
			if at.finished(p) {
				n--
			}
		}
	}
	return n - s.Dropped
}

// finished reports whether a position is one that the record counts as finished, besides
// those that it lists as lost.
func (s SourceState) finished(pos int64) bool {
	return pos < s.Position || slices.ContainsFunc(s.Ahead, func(r [2]int64) bool { return r[0] <= pos && pos < r[1] })
}

// AppendPlace appends what a batch brings of the record after it, as JSON: the keys from
// batches to errors, but not what was lost. Unlike encoding/json it needs no memory
// besides.
func (s State) AppendPlace(dst []byte) []byte {
	dst = append(dst, `{"sources":{`...)
	var names [8]string
	for i, name := range appendNames(names[:0], s.Sources) {
		at := s.Sources[name]
		dst = appendKey(dst, i, name)
		dst = strconv.AppendInt(append(dst, `{"samples":`...), at.Samples, 10)
		dst = strconv.AppendInt(append(dst, `,"position":`...), at.Position, 10)
		dst = appendRanges(dst, "ahead", at.Ahead)
		if len(at.Open) > 0 {
			dst = append(dst, `,"open":`...)
			dst = appendList(dst, at.Open)
		}
		dst = appendRanges(dst, "done", at.Done)
		if at.Object != nil {
			object, _ := json.Marshal(at.Object) // a number and text
			dst = append(append(dst, `,"object":`...), object...)
		}
		if at.Shards != "" {
			dst = append(append(append(dst, `,"shards":"`...), at.Shards...), '"') // digits, and colons
		}
		dst = append(dst, '}')
	}
	dst = append(dst, '}')

	if s.Batches != 0 {
		dst = strconv.AppendInt(append(dst, `,"batches":`...), s.Batches, 10)
	}

	if len(s.Merges) > 0 {
		dst = append(dst, `,"merges":{`...)
		for i, name := range appendNames(names[:0], s.Merges) {
			dst = appendKey(dst, i, name)
			dst = strconv.AppendInt(append(dst, `{"low":`...), s.Merges[name].Low, 10)
			dst = append(appendRanges(dst, "ahead", s.Merges[name].Ahead), '}')
		}
		dst = append(dst, '}')
	}

	if len(s.Parts) > 0 {
		parts, _ := json.Marshal(s.Parts) // numbers and names
		dst = append(append(dst, `,"parts":`...), parts...)
	}

	if len(s.Aggregates) > 0 {
		dst = append(dst, `,"aggregates":{`...)
		for i, name := range appendNames(names[:0], s.Aggregates) {
			memory, _ := json.Marshal(s.Aggregates[name]) // a number and text
			dst = append(appendKey(dst, i, name), memory...)
		}
		dst = append(dst, '}')
	}

	if s.Dropped != 0 {
		dst = strconv.AppendInt(append(dst, `,"dropped":`...), s.Dropped, 10)
	}
	if s.Replaced != 0 {
		dst = strconv.AppendInt(append(dst, `,"replaced":`...), s.Replaced, 10)
	}

	if len(s.Errors) > 0 {
		dst = append(dst, `,"errors":{`...)
		for i, name := range appendNames(names[:0], s.Errors) {
			dst = strconv.AppendInt(appendKey(dst, i, name), s.Errors[name], 10)
		}
		dst = append(dst, '}')
	}

	return append(dst, '}')
}

// appendNames appends the keys of a map, sorted.
func appendNames[V any](dst []string, m map[string]V) []string {
	for name := range m {
		dst = append(dst, name)
	}
	slices.Sort(dst)
	return dst
}

// appendKey appends the name of a step, which has nothing to escape, as the key of member
// i of an object.
func appendKey(dst []byte, i int, name string) []byte {
	if i > 0 {
		dst = append(dst, ',')
	}
	return append(append(append(dst, '"'), name...), `":`...)
}

func appendRanges(dst []byte, key string, ranges [][2]int64) []byte {
	if len(ranges) == 0 {
		return dst
	}
	dst = append(append(append(dst, `,"`...), key...), `":[`...)
	for i, r := range ranges {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendList(dst, r[:])
	}
	return append(dst, ']')
}

func appendList(dst []byte, numbers []int64) []byte {
	dst = append(dst, '[')
	for i, n := range numbers {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, n, 10)
	}
	return append(dst, ']')
}

// mostObjectState bounds what an object of Python says of itself.
const mostObjectState = 1 << 20

// checkObject says what is wrong with what the record says of an object. Only where it is
// iterated over should it.
func (s SourceState) checkObject(iterated bool) error {
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
		return fmt.Errorf("%d samples were read from an iterable without state_dict(): the position cannot be found again; begin at an epoch, or give the object, or what iter() makes of it, state_dict() and load_state_dict()", s.Position)
	case o.Position < 0 || o.Position > s.Position:
		return fmt.Errorf("its object had given %d samples, and %d were taken", o.Position, s.Position)
	case len(o.State) > mostObjectState || !json.Valid([]byte(o.State)):
		return fmt.Errorf("the state of its object must be JSON of at most %d bytes", mostObjectState)
	}
	return nil
}
