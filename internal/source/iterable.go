package source

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/state"
)

// Endless means the length of a source of which nobody knows it.
const Endless = 1 << 48

// Iterable are contents that an object of Python yields, one after the other. Their
// number is unknown, and none can be asked for. One worker reads them, while the source
// does. A run can only be resumed by the object's own state.
type Iterable struct {
	object
	work   *core.Env
	Source *Listing
	rank   int // whose stream it is
	world  int

	from  state.Object // of the epoch that a run begins with
	epoch int          // which one that is

	mu     sync.Mutex
	States []streamState // guarded by mu: of places that the run may be asked for, in order
}

// streamState is a state of the object with its place.
type streamState struct {
	epoch int
	state.Object
}

// Len implements contents.
func (s *Iterable) Len() int64 { return Endless }

// Link implements contents.
func (s *Iterable) Link(w *core.Env, f *fuse.Source, schema sample.Schema, where *record.Columns) (*python.Function, error) {
	gives := s.call.Gives.Schema
	s.work = w
	s.begins(w, f, gives, schema, where)
	var err error
	s.python.Pool, _, err = OpenWorkers(python.HostOf(w), f, extern.Iterate, s.rank, s.world)
	s.python.Workers, s.python.PerWorker, s.python.Land = 1, rowsAhead, s.land
	return nil, err
}

// Begin learns where a run begins.
func (s *Iterable) Begin(epoch int, from *state.Object) {
	s.epoch, s.from = epoch, state.Object{}
	if from != nil {
		s.from = *from
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.States = append(s.States[:0], streamState{epoch, s.from})
}

// random is the key of an epoch's random numbers from a place on; the worker counts its
// samples on from there.
func (s *Iterable) random(epoch int, at int64) [2]uint64 {
	key := s.work.RandomKey(s.Source.Record(epoch, 0, 0))
	return [2]uint64{key.Uint64(s.python.DrawID, 2*uint32(s.rank)), key.Uint64(s.python.DrawID, 2*uint32(s.rank)+1) + uint64(at)}
}

// receive makes a sample of what came. While there is no room for it the worker waits.
func (s *Iterable) receive(ctx context.Context, it *record.Record, out []extern.Value) error {
	var n int64
	var err error
	if s.late {
		n = s.landed(it, out)
	} else {
		n, err = s.take(s.work, it, out)
	}
	if err == nil {
		it.Content, err = it.Source.Lane.Acquire(ctx, s.work.Age(it.ID), core.ForFiles, n)
	}
	return err
}

func (s *Iterable) giveBack(out []extern.Value) {
	for i := range out {
		if s.work.Shared.Has(out[i].Data) {
			s.work.Shared.Give(out[i].Data)
		}
	}
}

// Fetch implements contents: the sample is there. Nobody can read it again.
func (s *Iterable) Fetch(ctx context.Context, w *core.Env, it *record.Record) (int64, error) {
	if s.late {
		return s.object.Fetch(ctx, w, it)
	}
	if it.Values == nil {
		return 0, errGone
	}
	return it.Content.Bytes(), nil
}

var errGone = errors.New("headrace: an iterable cannot be read again")

// MostStates bounds how many states are kept for places that nobody has come to yet.
const MostStates = 256

// Note keeps the state of the object after a sample.
func (s *Iterable) Note(epoch int, pos int64, said string) {
	if said == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.States) >= MostStates { // every other place will do: whoever goes on there throws some samples away
		kept := s.States[:1]
		for i := 2; i < len(s.States); i += 2 {
			kept = append(kept, s.States[i])
		}
		s.States = kept
	}
	s.States = append(s.States, streamState{epoch, state.Object{Position: pos, State: said}})
}

// StateAt is the last state at a place or before it. Those before that are forgotten.
func (s *Iterable) StateAt(epoch int, pos int64) *state.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := &state.Object{}
	last := 0
	for i, st := range s.States {
		if st.epoch < epoch || st.epoch == epoch && st.Position <= pos {
			if last = i; st.epoch == epoch {
				*found = st.Object
			}
		}
	}
	s.States = slices.Delete(s.States, 0, last)
	return found
}
