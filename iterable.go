package headrace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"headrace/internal/ops"
	"iter"
	"slices"
	"sync"

	"headrace/budget"
	"headrace/extern"
	"headrace/internal/record"
	"headrace/pipe"
	"headrace/recipe"
	"headrace/recipe/fuse"
	"headrace/sample"
)

// endless stands for the length of a source of which nobody knows it.
const endless = 1 << 48

// iterable are contents that an object of Python yields, one behind the other: nobody knows how many, or can ask for one of them. One worker reads them, while the source
// does. Another run begins where one stood only with the object's own state.
type iterable struct {
	object
	work   *ops.Env
	source *listing
	rank   int // whose stream it is
	world  int

	from  ObjectState // of the epoch that a run begins with
	epoch int         // which one that is

	mu     sync.Mutex
	states []streamState // guarded by mu: of places that the run may be asked for, in order
}

// streamState is a state of the object with its place.
type streamState struct {
	epoch int
	ObjectState
}

// ObjectState is what an object of Python that yields samples has said of itself.
type ObjectState struct {
	Position int64  `json:"position"` // how many samples of its epoch it had given
	State    string `json:"state"`    // of its state_dict(), as JSON; "": the beginning, or it has none
}

// len implements contents.
func (s *iterable) len() int64 { return endless }

// link implements contents.
func (s *iterable) Link(c *compiler, read *stage, f *fuse.Source) error {
	gives := f.Object.Gives.Schema
	s.work = c.work
	s.begins(c, f, gives)
	var err error
	s.python.Pool, _, err = openSource(c.work.Host, f, extern.Iterate, s.rank, s.world)
	return err
}

// begin is told where a run begins.
func (s *iterable) begin(epoch int, from *ObjectState) {
	s.epoch, s.from = epoch, ObjectState{}
	if from != nil {
		s.from = *from
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.states = append(s.states[:0], streamState{epoch, s.from})
}

// items are those of an epoch from a position on. Those before it that come again are thrown away.
func (s *iterable) items(ctx context.Context, epoch int, pos int64) iter.Seq2[*record.Record, error] {
	return func(yield func(*record.Record, error) bool) {
		call := &extern.Call{ID: sample.ID{Source: s.source.Name, Epoch: epoch, Index: int64(epoch)}, Key: s.source.Name}
		at := int64(0)
		if epoch == s.epoch && s.from.State != "" {
			call.State, at = []byte(s.from.State), s.from.Position
		}
		room, err := s.ahead(ctx, epoch, pos)
		if err != nil {
			return // the run has ended
		}
		defer room.Release()
		reserved := int64(0)
		enough := false
		last := "" // state behind the last sample
		give := func(out []extern.Value) error {
			out, state := out[:len(out)-1], out[len(out)-1].Text
			if at++; at <= pos {
				s.giveBack(out)
				last = state
				return nil
			}
			it := s.source.Record(epoch, at-1, at-1)
			err := s.receive(ctx, it, out)
			if err != nil {
				s.work.Drop(it)
				it, err = nil, ops.Blame(it, err)
			}
			s.note(epoch, at, state)
			last = state
			if n := s.python.Pool.Ahead(); n != reserved { // larger ones have come
				room.Resize(n)
				reserved = n
			}
			if enough = !yield(it, err); enough {
				return ops.ErrEnough
			}
			return ctx.Err()
		}
		// Where the object says where it is, another worker goes on there when one has died.
		for died := true; died; {
			before := at
			call.Random = s.random(epoch, at)
			err = s.python.Pool.Stream(ctx, call, give)
			var gone *extern.WorkerError
			if died = errors.As(err, &gone) && at > before && last != "" && ctx.Err() == nil; died {
				call.State = []byte(last)
			} else if gone != nil && at > before {
				err = fmt.Errorf("%w\nthe source has no state_dict(), so no other worker can go on after %d samples", err, at)
			}
		}
		if err != nil && !enough && ctx.Err() == nil { // an epoch that ends early must not look like one that has ended
			yield(nil, pipe.Fatal(ops.Blame(s.source.Record(epoch, at, at), err)))
		}
	}
}

// random is the key of an epoch's random numbers from a place on; the worker counts its samples on from there.
func (s *iterable) random(epoch int, at int64) [2]uint64 {
	key := s.work.RandomKey(s.source.Record(epoch, 0, 0))
	return [2]uint64{key.Uint64(s.python.DrawID, 2*uint32(s.rank)), key.Uint64(s.python.DrawID, 2*uint32(s.rank)+1) + uint64(at)}
}

// ahead waits until there are bytes for what the worker makes before anybody has asked for it. They are held all the time, so no sample waits until they come back.
func (s *iterable) ahead(ctx context.Context, epoch int, pos int64) (budget.Grant, error) {
	room, err := s.source.Lane.Acquire(ctx, s.work.Age(s.source.Record(epoch, pos, pos).ID), ops.ForFiles, s.python.Pool.Ahead())
	room.Park()
	return room, err
}

// receive makes a sample of what came. While there is no room for it the worker waits.
func (s *iterable) receive(ctx context.Context, it *record.Record, out []extern.Value) error {
	n, err := s.take(s.work, it, out)
	if err == nil {
		it.Content, err = it.Source.Lane.Acquire(ctx, s.work.Age(it.ID), ops.ForFiles, n)
	}
	return err
}

func (s *iterable) giveBack(out []extern.Value) {
	for i := range out {
		if s.work.Shared.Has(out[i].Data) {
			s.work.Shared.Give(out[i].Data)
		}
	}
}

// fetch implements contents: the sample is there. Nobody can read it again.
func (s *iterable) fetch(_ context.Context, _ *ops.Env, it *record.Record) (int64, error) {
	if it.Values == nil {
		return 0, errGone
	}
	return it.Content.Bytes(), nil
}

var errGone = errors.New("headrace: what is iterated over cannot be read again")

// mostStates bounds how many states are kept for places that nobody has come to yet.
const mostStates = 256

// note keeps the state of the object after a sample.
func (s *iterable) note(epoch int, pos int64, state string) {
	if state == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.states) >= mostStates { // every other place will do: whoever goes on there throws some samples away
		kept := s.states[:1]
		for i := 2; i < len(s.states); i += 2 {
			kept = append(kept, s.states[i])
		}
		s.states = kept
	}
	s.states = append(s.states, streamState{epoch, ObjectState{pos, state}})
}

// stateAt is the last state at a place or before it. Those before that are forgotten.
func (s *iterable) stateAt(epoch int, pos int64) *ObjectState {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := &ObjectState{}
	last := 0
	for i, st := range s.states {
		if st.epoch < epoch || st.epoch == epoch && st.Position <= pos {
			if last = i; st.epoch == epoch {
				*found = st.ObjectState
			}
		}
	}
	s.states = slices.Delete(s.states, 0, last)
	return found
}

// iterated is a source of the loader of which nobody knows how many samples it has; nil: there is none.
func (l *Loader) iterated() *listing {
	for _, s := range l.sources {
		if s.iterated() {
			return s
		}
	}
	return nil
}

// checkIterated refuses what needs to know how many samples a source has, or any of them but the next.
func checkIterated(r recipe.Recipe, c Config) error {
	name := ""
	for _, s := range r.All() {
		if o, ok := s.Args.(*recipe.Object); ok && o.Iterated() && name == "" {
			name = s.Name
		}
	}
	if name == "" {
		return nil
	}
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrConfig}, args...)...)
	}
	if c.WorldSize > 1 && c.StepsPerEpoch == nil {
		return refuse("the source %q is iterated over, with world_size %d: ranks could yield different numbers of batches; say steps_per_epoch", name, c.WorldSize)
	}
	if step, ok := (ops.Policies{OnError: c.OnError}).Does(ops.Replace, r); ok {
		where := ""
		if step != "" {
			where = fmt.Sprintf(" of the step %q", step)
		}
		return refuse("on_error=%q%s: the source %q is iterated over, and no other of its samples can be had in the place of a bad one; use %q", ops.Replace, where, name, ops.Skip)
	}
	rates := []MaxErrors{c.MaxErrors}
	for _, s := range r.All() {
		if s.Failures != nil && s.Failures.MaxErrors != nil {
			rates = append(rates, *s.Failures.MaxErrors)
		}
	}
	for _, m := range rates {
		if m.Rate != 0 {
			return refuse("max_errors is %v of the samples: the source %q is iterated over, and nobody knows how many they are; say a number of them", m.Rate, name)
		}
	}
	return nil
}

// mostObjectState bounds what an object of Python says of itself.
const mostObjectState = 1 << 20

// checkObject says what is wrong with what the record says of an object. Only where it is iterated over should it.
func (s SourceState) checkObject(iterated bool) error {
	o := s.Object
	switch {
	case !iterated && o == nil:
		return nil
	case !iterated:
		return errors.New("it has the state of an object, which is read by numbers")
	case s.Position == 0 && len(s.Ahead) == 0 && (o == nil || o.State == ""):
		return nil
	case len(s.Done) > 0:
		return errors.New("what other ranks have done says nothing of an object that is iterated over")
	case o == nil || o.State == "":
		return fmt.Errorf("%d samples were taken of an object that is iterated over and has no state_dict(): nobody can find the place again; begin at an epoch, or give the object, or what iter() makes of it, state_dict() and load_state_dict()", s.Position)
	case o.Position < 0 || o.Position > s.Position:
		return fmt.Errorf("its object had given %d samples, and %d were taken", o.Position, s.Position)
	case len(o.State) > mostObjectState || !json.Valid([]byte(o.State)):
		return fmt.Errorf("the state of its object is no JSON of at most %d bytes", mostObjectState)
	}
	return nil
}
