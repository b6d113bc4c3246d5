package pipe

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/headrace/headrace/pipe/internal/failure"
	"github.com/headrace/headrace/pipe/internal/progress"
	"github.com/headrace/headrace/pipe/internal/queue"
	"github.com/headrace/headrace/pipe/internal/worker"
)

// Config says how a flow is run. The zero Config runs epoch 0, and stops at the first
// failure.
type Config struct {
	Resume State // where to go on; its zero value: at the beginning of Epoch
	Epoch  int   // the first epoch; with Resume, that decides
	// how many epochs to run from here on, the first included, even when it was begun
	// before; 0: 1, or up to Until; NoLimit: without end
	Epochs   int
	Until    int    // the epoch to end before, counted from 0: a resumed run ends where the first one would have; 0: Epochs decides
	Failures Policy // for all stages that have no policy of their own, together; Count and Rate are of the source's items
	Hooks    Hooks
	Stall    Stall // who learns when nothing moves
}

// Start runs a flow. It returns all mistakes in the flow and the configuration, joined,
// before anything runs. The run must be closed; it is also stopped by ctx.
func Start[T any](ctx context.Context, f Flow[T], c Config) (*Run[T], error) {
	if err := errors.Join(f.Check(), c.check(f.node)); err != nil {
		return nil, err
	}
	recorder, err := c.Stall.record()
	if err != nil {
		return nil, err
	}
	if c.Until == 0 && c.Epochs == 0 {
		c.Epochs = 1
	}
	o := newOpening(ctx, c)
	last := f.into(o, nil)
	r := newRun(ctx, o, last)
	if c.Until > 0 && o.epochsLeft() == 0 {
		r.err = ErrDone
		o.halt()
	}
	o.start(ctx)
	o.watchdog(c.Stall, r.consumer, recorder)
	return r, nil
}

func newRun[T any](ctx context.Context, o *opening, last *queue.Ring[T]) *Run[T] {
	r := &Run[T]{
		engine:    o.engine,
		lookahead: queue.NewLookahead(last),
		consumer:  worker.NewSet(o.ctx, o.Run).NewWorker().Traced(0),
		hooks:     o.config.Hooks,
		given:     ctx,
		losses:    failure.Counter{Policy: o.config.Failures},
		progress:  o.progress,
	}
	r.engine.discardHeld = r.discard
	var sources []*failure.Origin
	for _, s := range o.sources {
		sources = append(sources, &s.Origin)
	}
	if !r.losses.Resume(r.progress, sources) {
		r.setTerminal()
	}
	return r
}

func (c Config) check(n *node) error {
	var all []error
	if c.Epoch < 0 || c.Epoch > progress.MaxPos {
		all = append(all, fmt.Errorf("pipe: Config.Epoch is %d: it must be from 0 to %d", c.Epoch, progress.MaxPos))
	}
	if c.Until < 0 || c.Until > progress.MaxPos {
		all = append(all, fmt.Errorf("pipe: Config.Until is %d: it must be from 1 to %d, or 0 for the number of Epochs",
			c.Until, progress.MaxPos))
	}
	if c.Until > 0 && c.Epochs != 0 {
		all = append(all, fmt.Errorf("pipe: Config has Epochs %d and Until %d: give one of them", c.Epochs, c.Until))
	}
	for _, err := range failure.CheckPolicy(c.Failures) {
		all = append(all, fmt.Errorf("pipe: Config.Failures: %w", err))
	}
	return errors.Join(append(all, c.Stall.check(), progress.CheckState(c.Resume, n.stages()))...)
}

// An opening is a run in the making: stages are opened from the consumer's end up, and
// start when all are there.
type opening struct {
	*engine
	config   Config
	starts   []func()
	sources  []*stage
	progress *progress.Tracker
	routes   map[*node]any // the router of each Route, for its branches, which know its type
	trial                  // of a stage, for Profile
}

func newOpening(ctx context.Context, c Config) *opening {
	return &opening{engine: newEngine(ctx, c.Hooks, c.Stall.After > 0), config: c,
		progress: progress.NewTracker(c.Resume), routes: make(map[*node]any)}
}

// newStage opens the stage of a node, whose items go to stage below. Contexts nest from
// the consumer up, so that stopping a stage stops all that feeds it.
func (o *opening) newStage(n *node, below *stage) *stage {
	if n == o.node && o.workers > 0 {
		with := *n
		with.workers, n = o.workers, &with
	}
	s := &stage{node: n, engine: o.engine, below: below, raises: !o.config.Failures.Skip}
	s.Stage, s.Key, s.Run, s.Set.Gate = n.name, n.key(), o.Run, n.gate
	s.PerWorker, s.Set.OnResize, s.Elsewhere, s.OnEnd = max(1, n.inFlight), n.resized, n.onResize != nil, s.endHook
	if n.policy != nil {
		s.raises = !n.policy.Skip
		s.lossesBefore = o.lostBefore(n)
	}
	s.Before = n.nth * n.share(n.workers) * s.PerWorker
	s.Resize(n.share(n.workers))
	parent := o.ctx
	if below != nil {
		s.keepMembers = below.makes || below.keepMembers
		parent = below.Ctx
		s.Rank = below.Rank + 1
		below.up = append(below.up, s)
	}
	s.Ctx, s.cancel = context.WithCancel(parent)
	o.stages = slices.Insert(o.stages, 0, s)
	return s
}

// lostBefore is the count of a stage with a policy of its own, in the epoch that the run
// goes on in. What it has seen nobody counts: a share is judged as if that were all items
// of the sources that are finished.
func (o *opening) lostBefore(n *node) failure.Counter {
	t := failure.Counter{Policy: *n.policy, Lost: o.config.Resume.Losses[n.key()]}
	for _, saved := range o.config.Resume.Sources {
		t.Seen += progress.NewPositionSet(saved).Finished()
	}
	return t
}

// firstEpoch is the one that the run begins with.
func (o *opening) firstEpoch() int {
	for _, saved := range o.config.Resume.Sources {
		return saved.Epoch // they are all in the same
	}
	return o.config.Epoch
}

// epochsLeft is how many epochs there are to run, the first included; negative: without
// end.
func (o *opening) epochsLeft() int {
	if o.config.Until > 0 {
		return max(0, o.config.Until-o.firstEpoch())
	}
	return o.config.Epochs
}

// run adds a worker to a stage.
func (o *opening) run(s *stage, work func(*worker.Worker)) {
	w := s.NewMember()
	s.Present.Add(1)
	o.starts = append(o.starts, func() {
		o.Hold()
		s.Begin(w, work)
	})
}

// runAll gives a stage its workers, whose number can be changed.
func (o *opening) runAll(s *stage, work func(*worker.Worker), fit func(workers int)) {
	s.Work, s.Fit = work, fit
	for range s.Number.Load() {
		o.run(s, work)
	}
}

// newSource makes a stage one of the run's sources. It returns its number, and what it
// reads.
func (o *opening) newSource(s *stage) (number int, p plan) {
	p = plan{epochs: o.epochsLeft()}
	saved, ok := o.config.Resume.Sources[s.key()]
	if !ok {
		saved.Epoch = o.config.Epoch
	}
	p.saved = saved
	o.sources = append(o.sources, s)
	return o.progress.AddSource(s.key(), saved), p
}

func (o *opening) start(ctx context.Context) {
	o.Epoch, o.Origins = o.firstEpoch(), o.progress.Names
	o.watch(ctx)
	o.beginStages()
	for _, start := range o.starts {
		start()
	}
	o.Gone()
}
