package pipe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace/pipe/internal/queue"
)

// ProfileOpts are the settings of a Profile.
type ProfileOpts struct {
	Items    int    // of the source, for each number of workers; 0: 1000
	Workers  []int  // how many workers a stage is tried with; nil: 1, 2, 4, 8, 16
	Epoch    int    // of the source
	Failures Policy // for all stages that have no policy of their own

	// Progress is called before each trial. Nil: nobody is told.
	Progress func(ProfileProgress)
}

// ProfileProgress says how far a Profile is: a stage is about to be tried.
type ProfileProgress struct {
	Stage   string
	Workers int // 0: as many as it has by nature
	Trial   int // from 0
	Trials  int // in all
}

// Profile measures every stage of a flow alone: it records what the stages before have
// made, and then lets the stage work on that as fast as it can, with each number of
// workers in turn, and with nobody else to share the machine with. What it makes is
// recorded for the next stage. Every item is worked on once, a part of them with each
// number of workers, so that it does not matter whether an operation uses up its items.
//
// Stages that have one worker by nature are measured as they are, and so is a Route with
// its branches, as one. What is recorded is in memory: len(Workers) × Items items, and
// whatever a stage makes of them; a Store has to have room for its batches, unless the
// Fill is the last stage. Sources that are shorter give what they have.
func Profile[T any](ctx context.Context, f Flow[T], o ProfileOpts) (Report, error) {
	if o.Items == 0 {
		o.Items = 1000
	}
	if o.Workers == nil {
		o.Workers = []int{1, 2, 4, 8, 16}
	}
	config := Config{Epoch: o.Epoch, Epochs: 1, Failures: o.Failures}
	if err := errors.Join(f.Check(), config.check(f.node), o.check()); err != nil {
		return Report{}, err
	}
	l := &isolation{ctx: ctx, opts: o, config: config, recordings: make(map[*node]any)}
	defer l.clear()
	l.trials = l.count(f.node)
	measure(l, f, &recording[T]{drop: f.drop, discards: true})
	if l.err != nil {
		return Report{}, l.err
	}
	fillRates(&l.report)
	return l.report, nil
}

func (o ProfileOpts) check() error {
	if o.Items < 0 || o.Items > MaxBuffer {
		return fmt.Errorf("pipe: ProfileOpts.Items is %d: it must be from 1 to %d, or 0 for 1000", o.Items, MaxBuffer)
	}
	if len(o.Workers) == 0 || slices.Min(o.Workers) < 1 || slices.Max(o.Workers) > MaxWorkers {
		return fmt.Errorf("pipe: ProfileOpts.Workers is %v: must be numbers of workers, each at least 1 and at most %d",
			o.Workers, MaxWorkers)
	}
	return nil
}

// An isolation is a Profile at work. Measuring a stage begins with opening it; what it
// takes is then recorded first, by measuring the stage before, and so on up to the
// source.
type isolation struct {
	ctx        context.Context
	opts       ProfileOpts
	config     Config
	recordings map[*node]any // what each stage has made, of the stage's type
	left       []func()      // disposes of what nobody took
	report     Report
	trials     int // in all
	begun      int // of them
	err        error
}

// count is the number of trials of a stage and all before it.
func (l *isolation) count(n *node) (all int) {
	all = len(l.workers(n))
	if n.kind == kindJoin { // measured with its branches
		n = n.router()
	}
	for _, up := range n.ups {
		all += l.count(up)
	}
	return all
}

// workers are the numbers of them that a stage is tried with; 0 is what it has by nature.
func (l *isolation) workers(n *node) []int {
	switch n.kind {
	case kindMap, kindFilter, kindFlatMap, kindFill:
		return l.opts.Workers
	}
	return []int{0}
}

func (l *isolation) tell(stage string, workers int) {
	if l.opts.Progress != nil {
		l.opts.Progress(ProfileProgress{Stage: stage, Workers: workers, Trial: l.begun, Trials: l.trials})
	}
	l.begun++
}

// A trial is an opening's part in a Profile.
type trial struct {
	isolation *isolation // nil where there is no Profile
	node      *node      // that is measured
	workers   int        // that it is given; 0: its own
	round     int        // the trial's number, of so many
	rounds    int
	whole     int // more than 0: stages are opened with those before them
}

// A recording holds what a stage has made.
type recording[T any] struct {
	items    []T
	replayed int
	drop     func(T)
	discards bool // nobody will ask for what is recorded
}

// record takes an item.
func (t *recording[T]) record(v T) {
	if !t.discards {
		t.items = append(t.items, v)
	} else if t.drop != nil {
		t.drop(v)
	}
}

// discardRest disposes of what was not played.
func (t *recording[T]) discardRest() {
	for _, v := range t.items[t.replayed:] {
		if t.drop != nil {
			t.drop(v)
		}
	}
	t.items = nil
}

// upTo is a source that plays the recording up to there. It is read once.
func (t *recording[T]) upTo(end int) SourceFunc[T] {
	return func(context.Context, int, int64) iter.Seq2[T, error] {
		return func(yield func(T, error) bool) {
			for t.replayed < end {
				t.replayed++
				if !yield(t.items[t.replayed-1], nil) {
					return
				}
			}
		}
	}
}

// replay opens, in place of a flow, a source of what was recorded of it.
func replay[T any](o *opening, f Flow[T], below *stage) *queue.Ring[T] {
	l := o.isolation
	t, ok := l.recordings[f.node].(*recording[T])
	if !ok {
		t = &recording[T]{drop: f.drop}
		l.recordings[f.node] = t
		l.left = append(l.left, t.discardRest)
		measure(l, f, t)
	}
	player := From(f.node.name, t.upTo(len(t.items)*(o.round+1)/o.rounds))
	player.drop = f.drop
	o.whole++ // the player needs no replay
	defer func() { o.whole-- }()
	return player.into(o, below)
}

// measure lets a flow's last stage work alone, and records what it makes.
func measure[T any](l *isolation, f Flow[T], t *recording[T]) {
	counts, most := l.workers(f.node), math.MaxInt
	if f.node.kind == kindSource {
		most = l.opts.Items * len(l.opts.Workers)
	}
	profile := StageProfile{Name: strings.TrimSuffix(f.node.name, joinSuffix), Kind: f.node.kind}

	for round, workers := range counts {
		o := newOpening(l.ctx, l.config)
		o.trial = trial{isolation: l, node: f.node, workers: workers, round: round, rounds: len(counts)}
		run := newRun(l.ctx, o, f.into(o, nil))

		if l.err != nil { // of a stage before
			o.halt()
			o.start(l.ctx)
			run.Close()
			return
		}

		l.tell(profile.Name, workers)
		if f.node.onResize != nil {
			f.node.onResize(workers) // what it takes to begin is not what is measured
		}

		began := time.Now()
		o.start(l.ctx)
		n, err := take(l.ctx, run, most, t)
		took := time.Since(began)
		l.err = cmp.Or(err, run.Close())
		if l.err != nil {
			return
		}
		profile.Trials = append(profile.Trials, o.result(run.Stats(), n, took))
	}

	l.report.Stages = append(l.report.Stages, profile)
}

// take records at most so many items of a run's epoch, and returns how many there were.
func take[T any](ctx context.Context, run *Run[T], most int, t *recording[T]) (n int, err error) {
	for ; n < most; n++ {
		v, err := run.Next(ctx)
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		t.record(v)
	}
	return n, nil
}

// result is what a trial has shown.
func (o *opening) result(s Stats, out int, took time.Duration) Trial {
	last := s.Stages[len(s.Stages)-1]
	r := Trial{Workers: last.Workers, Out: int64(out), Took: took}
	if o.node.kind == kindSource {
		r.In = r.Out
		return r
	}
	for _, st := range s.Stages {
		if st.Kind == kindSource {
			r.In += st.Out
		}
	}
	if o.node.kind != kindJoin {
		r.Mean, r.P50, r.P90, r.P99, r.Sampled = last.Mean, last.P50, last.P90, last.P99, last.Sampled
	}
	return r
}

func (l *isolation) clear() {
	for _, erase := range l.left {
		erase()
	}
}

// fillRates works out the rates of a report.
func fillRates(r *Report) {
	for _, p := range r.Stages {
		if p.Kind == kindSource {
			r.Items += p.Trials[0].Out
		}
	}
	for _, p := range r.Stages {
		all := int64(0)
		for _, t := range p.Trials {
			all += t.In
		}
		for i := range p.Trials {
			t := &p.Trials[i]
			if all == 0 || t.Took <= 0 {
				continue
			}
			t.Rate = float64(t.In) / t.Took.Seconds()
			t.Source = t.Rate * float64(r.Items) / float64(all)
			if p.Kind == kindSource {
				t.Source = t.Rate
			}
		}
	}
}
