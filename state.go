package headrace

import (
	"errors"
	"fmt"
	"slices"

	"headrace/order"
	"headrace/pipe"
)

// StateVersion is the version of [State]'s form.
const StateVersion = 1

// State is the place of a run between two batches: everything before it was yielded or lost, nothing else. It is small, readable JSON; docs/protocol.md
// states it.
type State struct {
	Version   int    `json:"version"`
	Order     int    `json:"order"`      // version of the order algorithm
	Decoder   string `json:"decoder"`    // what decoded the images
	Recipe    string `json:"recipe"`     // fingerprint of the recipe
	Samples   int64  `json:"samples"`    // in the source
	WorldSize int    `json:"world_size"` // positions count this rank's share

	Epoch    int        `json:"epoch"`
	Position int64      `json:"position"`          // every position before it is finished
	Ahead    [][2]int64 `json:"ahead,omitempty"`   // half-open ranges beyond it that are finished
	Lost     []int64    `json:"lost,omitempty"`    // positions lost in this epoch
	Dropped  int64      `json:"dropped,omitempty"` // how many of the finished positions operations dropped on purpose

	Quarantine []int64 `json:"quarantine,omitempty"` // indices into the source that are never tried, for they crashed an engine
}

// maxEpoch is the largest epoch that a record may name: JSON's numbers are exact up to there in every language.
const maxEpoch = 1 << 53

// ErrState marks a state that does not fit what is to be run.
var ErrState = errors.New("headrace: state does not fit")

// at returns the record of the same run at another place.
func (s State) at(p pipe.SourceState) State {
	s.Epoch, s.Position, s.Ahead, s.Lost = p.Epoch, p.Low, p.Ahead, p.Lost
	return s
}

// place is the part of the record that the engine goes on from.
func (s State) place() pipe.SourceState {
	return pipe.SourceState{Epoch: s.Epoch, Low: s.Position, Ahead: s.Ahead, Lost: s.Lost}
}

// fits says why from cannot continue as s, whose identity keys are those of the recipe at hand, over n samples of this rank's epoch. A record
// without identity keys, such as a plain epoch number, fits.
func (s State) fits(from State, n int64) error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrState}, args...)...)
	}
	switch {
	case from.Version != 0 && from.Version != StateVersion:
		return refuse("it has version %d, this engine reads %d", from.Version, StateVersion)
	case from.Order != 0 && from.Order != order.Version:
		return refuse("its order algorithm is version %d, this engine has %d: another epoch order would repeat some samples and miss others", from.Order, order.Version)
	case from.Recipe != "" && from.Recipe != s.Recipe:
		return refuse("it was saved by another recipe; restore it with the recipe and seeds that saved it")
	case from.Samples != 0 && from.Samples != s.Samples:
		return refuse("its source had %d samples, this one has %d", from.Samples, s.Samples)
	case from.WorldSize != 0 && from.WorldSize != s.WorldSize:
		return refuse("it was saved with world_size %d, this run has %d", from.WorldSize, s.WorldSize)
	case from.Epoch < 0 || from.Epoch > maxEpoch:
		return refuse("its epoch is %d", from.Epoch)
	case from.Position < 0 || from.Position > n:
		return refuse("its position is %d of an epoch of %d samples", from.Position, n)
	}
	for _, i := range from.Quarantine {
		if i < 0 || i >= s.Samples {
			return refuse("it quarantines index %d of a source of %d samples", i, s.Samples)
		}
	}
	if err := from.checkRanges(n, refuse); err != nil {
		return err
	}
	if from.Dropped < 0 || from.settled(n).yielded() < 0 {
		return refuse("it dropped %d samples, more than it had", from.Dropped)
	}
	return nil
}

func (s State) checkRanges(n int64, refuse func(string, ...any) error) error {
	end := s.Position
	for _, r := range s.Ahead {
		if r[0] < end || r[1] <= r[0] || r[1] > n {
			return refuse("its range %v is not beyond position %d, in order, and within %d samples", r, end, n)
		}
		end = r[1]
	}
	for _, p := range s.Lost {
		if p < 0 || p >= n {
			return refuse("its lost position %d is not within %d samples", p, n)
		}
	}
	return nil
}

// settled is the record as runs give it: each loss once, and the end of an epoch of n samples as the beginning of the next.
func (s State) settled(n int64) State {
	if n > 0 && s.Position >= n {
		s.Epoch, s.Position, s.Ahead, s.Lost, s.Dropped = s.Epoch+1, 0, nil, nil, 0
	}
	s.Lost = slices.Compact(slices.Sorted(slices.Values(s.Lost)))
	return s
}

// yielded is the number of samples that the epoch had yielded. The record is settled.
func (s State) yielded() int64 {
	n := s.Position
	for _, r := range s.Ahead {
		n += r[1] - r[0]
	}
	for _, p := range s.Lost {
		if s.finished(p) {
			n--
		}
	}
	return n - s.Dropped
}

// finished reports whether a position is one that the record counts as finished, besides those that it lists as lost.
func (s State) finished(pos int64) bool {
	return pos < s.Position || slices.ContainsFunc(s.Ahead, func(r [2]int64) bool { return r[0] <= pos && pos < r[1] })
}

// As returns the place of s with the identity keys of another record.
func (s State) As(identity State) State {
	identity.Epoch, identity.Position, identity.Ahead = s.Epoch, s.Position, s.Ahead
	identity.Lost, identity.Dropped, identity.Quarantine = s.Lost, s.Dropped, s.Quarantine
	return identity
}
