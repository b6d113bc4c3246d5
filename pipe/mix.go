package pipe

import (
	"fmt"
	"slices"

	"github.com/headrace/headrace/pipe/internal/progress"
	"github.com/headrace/headrace/pipe/internal/queue"
	"github.com/headrace/headrace/pipe/internal/worker"
)

// MixOpts are the settings of a Mix.
type MixOpts struct {
	Name   string   // of the stage; required, and unique in its flow
	Buffer int      // items kept ready; 0: as of a Merge
	Shares []uint64 // of inputs, relative to their sum: 0, for no turns, to 2³²
	Items  int64    // of an epoch, at least 1

	// Stretch says, if shares change, with which of them a turn is taken: 0 is Shares,
	// and i is Later[i-1]. It has to depend on its arguments alone. nil: they do not.
	Stretch func(epoch int, turn int64) int
	Later   [][]uint64

	// Ahead is how many turns are thought to be before the first, of items like the
	// first of each input. Mixes of the same inputs, as those of lanes, do not all begin
	// with the same one then.
	Ahead int64

	// Took learns of each turn which input it was, and how long its item; may be nil.
	Took func(input int, length int64)

	// Without is asked when so many items of an input in a row were dropped or lost
	// before they came here. An error ends the run. nil: it goes on.
	Without func(input int, items int64) error
}

// Mix puts several flows together, so that each has its share of the lengths of all items
// of an epoch so far: none is ahead of it by more than its own longest item, and none
// short of it by more than the longest of any. With turns Ahead it is at most twice as
// much. An epoch ends as that of a [Merge] that ends after a number of items, or with its
// inputs. A failure of an input ends the run.
//
// A length is at least 0. Hold is called for each item that waits for its turn; nil:
// nothing is. Sums of the inputs are in the Memories of a state.
func Mix[T any](flows []Flow[T], length func(T) int64, hold func(T), o MixOpts) Flow[T] {
	n := &node{name: o.Name, kind: kindMix, buffer: o.Buffer, ordered: true, remembers: true, counts: []string{"", CountOf("")},
		detail: fmt.Sprintf("of %d, until %d items", len(flows), o.Items)}
	for _, f := range flows {
		n.ups = append(n.ups, f.node)
	}
	n.settle()
	o.mistakes(n, len(flows), length == nil)

	return Flow[T]{node: n, drop: dropOf(flows), open: func(op *opening, below *stage) *queue.Ring[T] {
		st := op.newStage(n, below)
		m := newMergeStage[T](st, n.workers+n.buffer)
		m.feed(op, flows)
		m.failFast, m.without = true, o.Without

		resume, key := op.config.Resume, n.key()
		s := &mixStage[T]{mergeStage: m, length: length, hold: hold, most: o.Items, ahead: o.Ahead, took: o.Took,
			fair: newFair(o.Shares), stretches: o.stretches(), stretch: o.Stretch, epoch: op.firstEpoch(),
			heads: make([]queue.Message[T], len(flows))}
		s.finished = op.progress.AddTurns(key, resume.Merges[key])
		s.counted = op.progress.AddTurns(CountOf(key), resume.Merges[CountOf(key)])

		// Without what was given, a state says too little.
		s.log, s.wrong = progress.NewTurnLog(len(flows), resume.Merges[key].Low, resume.Memories[key])
		if s.wrong == nil {
			s.finished.Keep(s.log)
			s.resumed = resume.Memories[key].Groups > 0
		}
		op.run(st, s.work)
		return m.out
	}}
}

func (o MixOpts) mistakes(n *node, inputs int, lengthless bool) {
	if inputs == 0 {
		n.mistake("it mixes nothing")
	}
	if o.Items < 0 || o.Ahead < 0 {
		n.mistake("Items is %d and Ahead %d: must be at least 0", o.Items, o.Ahead)
	}
	if lengthless {
		n.mistake("its function is nil")
	}
	for _, shares := range o.stretches() {
		if len(shares) != inputs {
			n.mistake("%d Shares for %d inputs", len(shares), inputs)
		} else if inputs > 0 && (slices.Max(shares) == 0 || slices.Max(shares) > 1<<32) {
			n.mistake("the largest of Shares is %d: must be at least 1, and at most 2³²", slices.Max(shares))
		}
	}
	if (o.Stretch == nil) != (o.Later == nil) {
		n.mistake("Stretch is for shares that change, and Later has these")
	}
}

func (o MixOpts) stretches() [][]uint64 { return append([][]uint64{o.Shares}, o.Later...) }

// A mixStage has the next item of each input, because whose turn it is depends on how
// long they are. After a resume the turns are those of the log up to the last that was
// finished: its items do not come again, so the next items of then are unknown.
type mixStage[T any] struct {
	*mergeStage[T]
	length func(T) int64
	hold   func(T)
	most   int64
	ahead  int64
	took   func(input int, length int64)

	stretches [][]uint64 // the shares of each
	stretch   func(epoch int, turn int64) int
	at        int // the stretch of fair
	epoch     int // as the sources count them

	fair    *fair
	log     *progress.TurnLog
	wrong   error // with the log of a state
	resumed bool  // the log has what was given before

	heads   []queue.Message[T] // whose lengths fair has
	lacking []int              // inputs without one, of which some may have no more

	finished *progress.Children   // turns of this epoch
	skip     progress.PositionSet // those that were finished before the run was resumed
	counted  *progress.Children   // items of this epoch, of which fewer may be left for this run
	done     progress.PositionSet
}

// work makes epoch after epoch. It has a free place whenever it takes an item.
func (s *mixStage[T]) work(w *worker.Worker) {
	s.skip, s.done = s.finished.Finished(), s.counted.Finished()
	s.clear()
	defer s.drop()
	for s.out.Reserve(w) {
		end, ok := s.takeTurns(w)
		if !ok {
			return
		}
		s.out.Put(&end, w.Last)
		if end.Kind == queue.Fatal || end.Last {
			return
		}
		s.epoch++
		s.finished, s.counted = progress.NewTurns(s.key(), Progress{}), progress.NewTurns(progress.CountOf(s.key()), Progress{})
		s.skip, s.done = progress.PositionSet{}, progress.PositionSet{}
		s.log, _ = progress.NewTurnLog(len(s.inputs), 0, Memory{}) // nothing is remembered
		s.finished.Keep(s.log)
		s.resumed = false
	}
}

// takeTurns hands on one epoch, and returns the message after it. A place is reserved.
func (s *mixStage[T]) takeTurns(w *worker.Worker) (end queue.Message[T], ok bool) {
	if s.wrong != nil {
		s.haltAbove()
		return queue.Message[T]{Kind: queue.Fatal, Failure: s.NewFailure(s.wrong)}, true
	}

	s.fair.reset(s.log.Given())
	s.lackAll()
	// Where ranks have shared out a rest again, this one's turns are numbered from 0.
	before := s.done.Low - s.skip.Low
	s.enter(max(0, before+s.skip.Low-1))
	begun := s.resumed
	number := int64(0)
	for turn := s.skip.Low; ; turn++ {
		if s.done.Has(number) {
			number = s.done.End(number)
		}
		if number >= s.most {
			return s.cut(w)
		}

		s.change(turn, before+turn)

		// What was finished before is only counted.
		taken, again := s.log.At(turn)
		if again && s.skip.Has(turn) {
			s.fair.give(taken.Input, taken.Given)
			continue
		}

		// Whose turn it is depends on all next items, if the log does not say it.
		at := taken.Input
		if again {
			if end, ok := s.fill(w, at); !ok || end.Kind == queue.Fatal {
				return end, ok
			}
		} else {
			for _, i := range s.lacking {
				if end, ok := s.fill(w, i); !ok || end.Kind == queue.Fatal {
					return end, ok
				}
			}
			s.lacking = s.lacking[:0]
			if !begun {
				begun = true
				s.begin()
			}
			at = s.fair.next()
		}
		if at < 0 || s.fair.lengths[at] < 0 { // the inputs are over
			return s.cut(w)
		}

		// It is handed on when it is counted, so that no state lacks it.
		m, n := s.heads[at], s.fair.lengths[at]
		s.heads[at] = queue.Message[T]{}
		s.lacking = append(s.lacking, at)
		if s.fair.give(at, n); s.took != nil {
			s.took(at, n)
		}
		if taken = (progress.Taken{Input: at, Given: n}); again {
			s.log.Set(turn, taken)
		} else {
			s.log.Add(taken)
		}
		m.Lineage = m.Lineage.WithCounted(s.finished, turn, turn+1, s.counted, number)
		number++
		w.Out.Add(1)
		w.TimeItem()
		s.out.Put(&m, w.Last)
		if !s.out.Reserve(w) {
			return end, false
		}
	}
}

// enter has the shares of a turn, whatever was given before.
func (s *mixStage[T]) enter(number int64) {
	if s.stretch != nil {
		s.at = s.stretch(s.epoch, number)
		s.fair.share(s.stretches[s.at])
	}
}

// change has other shares from a turn on, if it is the first of a stretch.
func (s *mixStage[T]) change(turn, number int64) {
	if s.stretch == nil {
		return
	}
	if at := s.stretch(s.epoch, number); at != s.at {
		s.at = at
		s.log.Change(turn, s.fair.change(s.stretches[at]))
		s.lackAll() // those that had no share, too
	}
}

func (s *mixStage[T]) lackAll() {
	s.lacking = s.lacking[:0]
	for i := range s.inputs {
		s.lacking = append(s.lacking, i)
	}
}

// begin thinks of turns before the first.
func (s *mixStage[T]) begin() {
	for range s.ahead {
		if at := s.fair.next(); at >= 0 {
			n := s.fair.lengths[at]
			s.fair.give(at, n)
			s.fair.offer(at, n)
		}
	}
	s.log.Begin(s.fair.given)
}

// fill takes the next item of an input, if there is none yet and the input has a share.
// The message is the end of the run, or of no kind.
func (s *mixStage[T]) fill(w *worker.Worker, at int) (end queue.Message[T], ok bool) {
	in := s.inputs[at]
	if s.fair.lengths[at] >= 0 || in.over || s.fair.shares[at] == 0 {
		return end, true
	}
	m, more, ok := s.next(w, in)
	switch {
	case !ok:
		return end, false
	case !more && m.Kind == queue.Fatal:
		s.haltAbove()
		return m, true
	case more:
		if s.hold != nil {
			s.hold(m.Val)
		}
		s.heads[at] = m
		s.fair.offer(at, max(0, s.length(m.Val)))
	}
	return end, true
}

// cut ends the epoch: items of it that are left are disposed of.
func (s *mixStage[T]) cut(w *worker.Worker) (end queue.Message[T], ok bool) {
	for _, n := range s.fair.lengths {
		if n >= 0 {
			w.Skipped.Add(1)
		}
	}
	s.drop()
	return s.cutShort(w)
}

// drop disposes of the items that wait.
func (s *mixStage[T]) drop() {
	for i, m := range s.heads {
		if s.fair.lengths[i] >= 0 {
			s.inputs[i].ring.DiscardMsg(m)
		}
	}
	s.clear()
}

func (s *mixStage[T]) clear() {
	clear(s.heads)
	s.fair.clear()
}
