package state

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"github.com/headrace/headrace/pipe"
)

// Version is the version of [State]'s form.
const Version = 2

// State is the place of a run between two batches: everything before it was yielded or
// lost, nothing else. It is small, readable JSON; docs/protocol.md states it.
type State struct {
	Version   int    `json:"version"`
	Order     int    `json:"order"`          // version of the order algorithm
	Decoder   string `json:"decoder"`        // what decoded the images
	Recipe    string `json:"recipe"`         // fingerprint of the recipe
	WorldSize int    `json:"world_size"`     // positions count one rank's share
	Rank      int    `json:"rank"`           // whose record it is
	Part      string `json:"part,omitempty"` // of each epoch that the run is of, such as "3/16"
	InStep    bool   `json:"in_step"`        // all ranks have the same batches at every moment, so that the record of one tells of all

	Steps []string `json:"steps,omitempty"` // outline of the recipe: names the step that differs; older records have none

	// by steps that lay files over samples, such as noise: how many there are, and a sum
	// of what they are; older records have none
	Files map[string]string `json:"files,omitempty"`

	Epoch   int                      `json:"epoch"`
	Batches int64                    `json:"batches,omitempty"` // that this epoch had so far
	Sources Sources                  `json:"sources,omitempty"` // by the names of their steps; none: the beginning of the epoch
	Merges  map[string]pipe.Progress `json:"merges,omitempty"`  // turns that are finished, of merges that go by turns
	Parts   []pipe.PartState         `json:"parts,omitempty"`   // samples of which several were made, and some are finished

	// of objects of Python that gather samples, by their steps: what is finished of
	// what they made, and what they said of themselves then
	Aggregates map[string]pipe.Memory `json:"aggregates,omitempty"`

	Replaced int64 `json:"replaced,omitempty"` // how many of the samples yielded in this epoch came instead of others
	// how many of the finished positions operations dropped on purpose; where they make
	// several samples of one, less what came of that
	Dropped int64 `json:"dropped,omitempty"`
	// of stages that have a max_errors of their own: how many samples of this epoch
	// were lost or replaced there
	Errors map[string]int64 `json:"errors,omitempty"`

	// samples that are never tried, for they crashed an engine: indices, those of the
	// recipe's sources one after the other
	Quarantine []int64 `json:"quarantine,omitempty"`
}

// Source is how far one source has come. Its positions count this rank's share of
// its epoch.
type Source struct {
	Samples  int64      `json:"samples"`         // in the source; 0: nobody knows, or there are none
	Of       []int64    `json:"of,omitempty"`    // how many there were for each take, skip, slice and shard; older records have none
	Position int64      `json:"position"`        // every position before it is finished
	Ahead    [][2]int64 `json:"ahead,omitempty"` // half-open ranges beyond it that are finished
	Lost     []int64    `json:"lost,omitempty"`  // positions lost in this epoch
	Open     []int64    `json:"open,omitempty"`  // those of Lost of which something else was made that is not finished
	// half-open ranges of the epoch's order, that of all ranks, finished under another
	// world size; positions count the rest
	Done [][2]int64 `json:"done,omitempty"`

	Object *Object `json:"object,omitempty"` // of an object of Python that is iterated over
	Shards string  `json:"shards,omitempty"` // what the shards were that it reads
}

// Err marks a state that does not fit what is to be run.
var Err = errors.New("headrace: state does not fit")

// Object is what an object of Python that yields samples has said of itself.
type Object struct {
	Position int64  `json:"position"` // how many samples of its epoch it had given
	State    string `json:"state"`    // what its worker writes of its state_dict(), as JSON; "": the beginning, or it has none
}

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
func (s Source) finished(pos int64) bool {
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
		if len(at.Of) > 0 {
			dst = appendList(append(dst, `,"of":`...), at.Of)
		}
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
