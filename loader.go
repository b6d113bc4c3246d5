package headrace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/headrace/headrace/arena"
	"github.com/headrace/headrace/budget"
	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/compile"
	"github.com/headrace/headrace/internal/report"
	"github.com/headrace/headrace/internal/resume"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/stats"
)

// Loader runs a recipe. [Loader.Start] begins at a state, [Loader.Next] gives batches and
// ends every epoch with io.EOF; both may be called again and again.
//
// Next and State belong to one goroutine at a time. Stats, SetWorkers, Release and
// SetWaiting may be called by any, at any time; Start, Stop and Close not while a Next is
// under way.
type Loader struct {
	config  Config
	options Options
	recipe  recipe.Recipe

	assembly // what it is made of
	epoch    // the one that Next is in
	watched  // what it tells of itself
	started  bool
	unwatch  func()          // ends the warnings about hosts of stores
	reading  context.Context // that of Open without its end: whose credentials reads have

	mu   sync.Mutex
	live // guarded by mu
}

// assembly has the results of assemble, which stay.
type assembly struct {
	listing            // the samples
	plan     fuse.Plan // of the recipe
	budget   *budget.Budget
	arena    *arena.Arena
	slots    *batch.Slots
	consumer *consumer
	gate     *Gate
	work     *core.Env
	compiled *compile.Program
	extent   resume.Extent
	lists    *source.Lister
	probes   bool // lists and workers are a survey's, which goes on with them
}

// watched are files and numbers that are kept beside a run.
type watched struct {
	tracing report.Tracing
	dead    report.DeadLetters
	idle    atomic.Bool // it was said that a source has given nothing
	stalled stalled     // the last report of a stall
	tuned   tuned       // what it changed of itself
}

// live is what any goroutine may ask for, or change.
type live struct {
	info    Info
	workers map[string]int // by stage, how many workers were set

	run     *pipe.Run[*batch.Batch] // nil before Start, after Stop, and where no epoch is left
	awaited bool                    // the consumer asked before the run began
	ahead   *pipe.Stats             // of the run, what it had done when the consumer first asked; nil: it has not
	usage   *report.Usage           // since a consumer first asked, of any run; nil: none has
	place   State                   // where there is no run
	total   pipe.Stats              // of the runs before
	hosts   []stats.Host            // of stores, as they were counted before it was opened
	last    *stats.Resources        // nil before Close
}

// Info returns what is known before anything runs, with the numbers of workers that were
// set since.
func (l *Loader) Info() Info {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.info
}

// Recipe returns the recipe, complete, with what was found out about functions of Python
// that do not say what they give.
func (l *Loader) Recipe() recipe.Recipe { return l.recipe }

// Prefetch is the number of batches to have ready ahead of the consumer.
func (l *Loader) Prefetch() int { return *l.config.Prefetch }

// Check returns [ErrState] with the reason where a state belongs to something else.
func (l *Loader) Check(from State) error {
	if err := l.know(from); err != nil {
		return err
	}
	if err := l.extent.Fits(from); err != nil {
		return err
	}
	if err := l.compiled.Flow.Fits(l.extent.Resume(l.extent.Settled(from))); err != nil {
		return fmt.Errorf("%w: %w", ErrState, err)
	}
	return nil
}

// know learns of a sampler's lists in the epoch of a state, which its places are held
// against.
func (l *Loader) know(at State) error {
	if len(at.Sources) == 0 || at.Epoch < 0 || l.options.Look {
		return nil
	}
	for _, s := range l.sources {
		if err := s.Know(l.reading, at.Epoch); err != nil {
			return err
		}
	}
	return nil
}

// Start drops what is under way and goes on from a state. Until a place is passed, if
// there is one, one operation runs at a time. Where Check refuses the state, that is the
// error, and nothing has changed.
func (l *Loader) Start(from State, serialUntil *Until) error {
	if l.options.Look {
		return errors.New("headrace: the loader was opened with Options.Look, and cannot be started")
	}
	if err := l.Check(from); err != nil {
		return err
	}

	l.warnOf(from)
	l.Stop()
	if l.started { // who starts again may have changed what functions see
		python.HostOf(l.work).Forget()
	}
	l.started = true
	from = l.extent.Settled(from)
	l.extent.From = from

	l.keyed(func(key string, s *source.Listing) {
		s.Begin(from.Epoch, from.Sources[key].Done, from.Sources[key].Object)
	})
	l.count, l.failure = l.countFrom(from), nil
	l.replacements.Begin(from)
	for _, limit := range l.compiled.Limits {
		limit.Begin()
	}
	l.work.Begin(from.Epoch, from.Quarantine, l.options.InFlight)

	l.mu.Lock()
	defer l.mu.Unlock()
	l.place = from
	left := l.config.epochsFrom(from.Epoch)
	if left == 0 {
		return nil // Next says so
	}

	l.serial.begin(l.gate, serialUntil)
	run, err := pipe.Start(l.reading, l.compiled.Flow, pipe.Config{
		Resume:   l.extent.Resume(from),
		Epochs:   left,
		Failures: core.RunPolicy(l.config.OnError, l.config.MaxErrors, l.info.SamplesPerEpoch),
		Hooks:    pipe.Tee(pipe.Hooks{Lost: l.lost}, l.tracing.Hooks()),
		Stall:    l.stall(),
	})
	if err != nil {
		l.serial.end()
		return fmt.Errorf("headrace: %w", err)
	}

	if l.run, l.ahead = run, nil; l.awaited {
		begun := run.Stats()
		l.ahead = new(begun.Minus(begun))
	}
	return l.staff()
}

// warnOf tells of what will not be as in the run that saved a state.
func (l *Loader) warnOf(from State) {
	if from.Decoder != "" && !media.SamePixels(from.Decoder, l.info.Decoder) {
		l.options.Warn("decoder", "the state was saved with decoder "+from.Decoder+"; this engine decodes with "+l.info.Decoder+
			", so pixels may differ by some levels from those of the run that is continued")
	}
}

// Next returns the next batch, io.EOF at the end of each epoch, and pipe.ErrDone after
// the last. The batch is the caller's until it is sent or released; an [arena.HeldError]
// says that the caller holds too many, and Next goes on once some were released.
func (l *Loader) Next(ctx context.Context) (*Batch, error) {
	run := l.current()
	switch {
	case l.failure != nil:
		return nil, l.failure
	case run == nil:
		return nil, pipe.ErrDone
	case l.full():
		return nil, l.cut()
	}

	if l.options.Announce == nil {
		l.Asked()
	}
	before := l.before()
	b, err := l.take(ctx, run)
	switch err { // itself: the failure of a sample may wrap io.EOF
	case nil:
		if err := l.tellReplaced(b, before); err != nil {
			return nil, err
		}
		b.Number(l.count.Epoch, l.count.Batches)
		l.count.Batches++
		l.count.Samples += b.Samples()
	case io.EOF:
		if l.config.StepsPerEpoch != nil {
			return nil, l.short()
		}
		l.endEpoch()
	default:
		return nil, l.judged(err)
	}

	if l.serial.until != nil {
		l.serial.reached(l.State())
	}
	if err != nil {
		return nil, err
	}
	return &Batch{b}, nil
}

// All yields the batches that are left of an epoch, for a range loop: each loop is one
// epoch. An error, as Next returns it, comes last. Batches are the caller's, as those of
// Next are.
func (l *Loader) All(ctx context.Context) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		defer func() {
			if run := l.current(); run != nil {
				run.Leave()
			}
		}()
		for {
			b, err := l.Next(ctx)
			if err == io.EOF || err == pipe.ErrDone || !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// judged says of a failure if it was one loss too many. A state may bring too many
// already; then no sample fails.
func (l *Loader) judged(err error) error {
	failed, bad := (*pipe.StageError)(nil), (*sample.Error)(nil)
	if errors.Is(err, source.ErrSampler) && errors.As(err, &failed) {
		return failed.Err // it is about an epoch, not about a sample
	}
	if start := (*extern.StartError)(nil); !errors.As(err, &failed) || errors.As(err, &start) || pipe.Stops(err) {
		return err
	}
	skips, known := l.compiled.Skipping[failed.Stage]
	if !known {
		skips = l.config.OnError == Skip
	}
	if !skips {
		return err
	}
	if !errors.As(err, &bad) && l.count.Lost <= int64(l.config.MaxErrors.Limit(l.info.SamplesPerEpoch)) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrTooManyLost, err)
}

// take waits for a batch. A consumer in this process holds it from now on; one elsewhere
// when it is sent.
func (l *Loader) take(ctx context.Context, run *pipe.Run[*batch.Batch]) (*batch.Batch, error) {
	if l.options.Announce != nil {
		return run.Next(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l.consumer.waits(cancel)
	l.SetWaiting(true)
	defer l.SetWaiting(false)
	defer l.consumer.waits(nil)
	b, err := run.Next(ctx)
	if err != nil {
		return nil, err
	}
	taken := b.Ticket()
	taken.Taken()
	return b, b.Take()
}

// State returns the place after the batch that Next returned last; after an epoch's last
// batch that is the beginning of the next epoch.
func (l *Loader) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()

	s := l.place
	if l.run != nil {
		s = l.at(l.run.State())
	}

	s.Quarantine = l.work.Quarantine
	if s.Epoch == l.count.Epoch {
		if s.Batches = l.count.Batches; l.full() {
			s = State{Epoch: s.Epoch + 1, Quarantine: s.Quarantine}
		}
	}

	s = l.extent.Settled(s) // the last batch ends its epoch, before io.EOF says so
	if s.Epoch != l.count.Epoch {
		return s
	}

	s.Replaced = l.count.Replaced
	l.replacements.Note(s.Errors)
	if l.compiled.Drops {
		s.Dropped = s.Yielded() - l.count.Samples // what is finished and was in no batch
		if !l.compiled.Makes {
			s.Dropped = max(0, s.Dropped)
		}
	}
	return s
}

// at is the record of a place, with what objects say of themselves there.
func (l *Loader) at(p pipe.State) State {
	s := l.extent.At(p)
	for _, from := range l.sources {
		if own, ok := from.Contents.(*source.Iterable); ok {
			at := s.Sources[from.Name]
			at.Object = own.StateAt(s.Epoch, at.Position)
			s.Sources[from.Name] = at
		}
	}
	return s
}

// Stop ends the run. What was not yielded is dropped; the state stays.
func (l *Loader) Stop() {
	run := l.current()
	if run == nil {
		return
	}
	run.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.place = l.at(run.State())
	l.total = l.total.Plus(l.fromFirst(run))
	l.run, l.ahead = nil, nil
	l.serial.end()
}

// Finish stops the run for good, and completes the files that the loader writes: a trace
// that nobody has stopped, whose error it returns, and dead letters, of which
// Options.Warn learns what is wrong. Close does it, too.
func (l *Loader) Finish() error {
	l.tuned.stop()
	l.Stop()
	l.dead.Close()
	return l.tracing.Close()
}

// Close stops the run and lets go of all memory that no batch holds. Batches sent stay
// valid for those who have mapped them. A file that could not be completed, as Finish
// says it, is an error of Close as well.
func (l *Loader) Close() error {
	unfinished := l.Finish()
	r := l.resources()
	l.mu.Lock()
	l.last = &r
	l.mu.Unlock()
	switch {
	case !l.probes:
		python.HostOf(l.work).Close()
		l.lists.Close()
		l.unwatch()
	case l.compiled.Writers != nil:
		l.compiled.Writers.DropSegments()
	}
	return errors.Join(unfinished, l.arena.Close())
}

// Release takes a sent batch's memory back.
func (l *Loader) Release(segment, slot uint32) error {
	l.slots.Forget(segment, slot)
	return l.arena.Release(segment, slot)
}

// Asked says that a consumer has asked for a batch; one in this process does so by Next.
// The first time starts the clocks of the statistics: before, the loader read ahead of a
// program that was still importing, or building its model. One that asks before Start
// waits from there on.
func (l *Loader) Asked() {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.run == nil:
		l.awaited = true
	case l.ahead == nil:
		l.ahead = new(l.run.Stats())
	}
	if l.usage == nil {
		l.usage = l.openUsage()
	}
	l.tune()
}

// Waiting tells whether the consumer waits.
func (l *Loader) Waiting() bool { return l.arena.Waiting() }

// SetWaiting says whether the consumer waits for a batch and there is none.
func (l *Loader) SetWaiting(waits bool) {
	l.arena.SetWaiting(waits)
	for _, limit := range l.compiled.Limits {
		limit.Wait(waits)
	}
}

func (l *Loader) current() *pipe.Run[*batch.Batch] {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.run
}

// lost counts a loss and passes it on, with the sample's name. Next calls it.
func (l *Loader) lost(loss pipe.Loss) {
	l.count.Lost++
	if l.options.Lost == nil && !l.dead.Wanted() {
		return
	}
	id, key := l.source(loss.Source).Identify(loss.Epoch, loss.Pos, loss.Output...)
	if l.source(loss.Source).Lists() && len(loss.Output) > 0 {
		loss.Output = loss.Output[1:] // the list's sample
	}
	id.Output = sample.Numbered(loss.Output...)
	if bad := (*sample.Error)(nil); errors.As(loss.Err, &bad) && bad.Index == id.Index {
		key = bad.Key // the sample may have a name that only its object tells

		// A batch fails in the name of its first sample, and the engine names each. But
		// rows that a function has made are outputs of the batch, which it does not know.
		if len(bad.Output.Numbers()) != len(loss.Output) {
			id.Output = bad.Output
		}
	}
	lost := Lost{ID: id, Key: key, Stage: loss.Stage, Err: loss.Err}
	if loss.Source != id.Source {
		lost.Place = loss.Source
	}
	l.tell(lost)
}

// tell passes on what was lost or replaced.
func (l *Loader) tell(lost Lost) {
	l.dead.Add(lost)
	if l.options.Lost != nil {
		l.options.Lost(lost)
	}
}
