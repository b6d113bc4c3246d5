package pipe_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"
	"time"

	"headrace/pipe"
	"headrace/pipe/pipetest"
)

// A world runs a spec for real and notes whatever is against the rules.
type world struct {
	spec   spec
	gate   *pipe.Gate
	gates  pipetest.Gauge
	gauges []pipetest.Gauge
	things pipetest.Owner[*thing]
	blocks pipetest.Owner[*block]

	mu      sync.Mutex
	permits map[int]bool
	faults  []string
	losses  []pipe.Loss
	most    []int // workers that each stage has had

	changes []change
}

// A change is a call of SetWorkers: so many milliseconds after the one before, or before
// so many events were seen.
type change struct {
	before int // events; less than 0: it is made by the clock
	after  int
	stage  int
	flat   bool // the stage after it
	n      int
}

// A thing is the item between all stages.
type thing struct {
	epoch   int
	ids     []int
	members int // of the batch that it is
}

// A block is the batch that a fill fills.
type block struct {
	rows   []*thing
	sealed int
	store  *blocks
}

var errFault = errors.New("a fault")

func newWorld(s spec) *world {
	w := &world{spec: s, gate: pipe.NewGate(max(1, s.gate)), gauges: make([]pipetest.Gauge, len(s.stages)), permits: make(map[int]bool)}
	for _, st := range s.stages {
		w.most = append(w.most, st.workers)
	}
	return w
}

func (w *world) fault(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

func (w *world) flow() pipe.Flow[*thing] {
	f := pipe.Discard(pipe.From("source", things{w}), w.things.Gone)
	for k, st := range w.spec.stages {
		f = pipe.Discard(w.stage(f, k, st), w.things.Gone)
	}
	return f
}

func (w *world) stage(f pipe.Flow[*thing], k int, st stageSpec) pipe.Flow[*thing] {
	var gate *pipe.Gate
	if st.gated {
		gate = w.gate
	}
	name := w.spec.name(k)
	flat := pipe.Opts{Name: name + " flat", Ordered: true, Buffer: 1}
	switch st.kind {
	case "batch":
		b := pipe.Batch(f, st.n, pipe.BatchOpts{Name: name, Buffer: st.buffer, DropLast: st.dropLast})
		return pipe.Map(b, func(_ context.Context, b []*thing) (*thing, error) { return w.join(b), nil }, flat)
	case "fill":
		b := pipe.Fill(f, st.n, &blocks{world: w, n: st.n, free: make(chan struct{}, st.pool)}, w.fill(k), pipe.FillOpts{
			Name: name, Workers: st.workers, Buffer: st.buffer, Ordered: true, DropLast: st.dropLast, Gate: gate, Failures: st.own,
		})
		return pipe.Map(b, w.empty(), flat)
	}
	return pipe.Map(f, w.operate(k), pipe.Opts{
		Name: name, Workers: st.workers, Buffer: st.buffer, Ordered: true, Gate: gate, Failures: st.own,
	})
}

// things is the source.
type things struct{ *world }

func (s things) Items(ctx context.Context, epoch int, pos int64) iter.Seq2[*thing, error] {
	return func(yield func(*thing, error) bool) {
		for id := int(pos); id < s.spec.items; id++ {
			if s.pause(ctx, -1, epoch, id) != nil {
				return
			}
			if f := s.spec.fate(-1, epoch, id); f == fails || f == panics {
				if !yield(nil, errFault) {
					return
				}
				continue
			}
			if !yield(s.things.Made(&thing{epoch: epoch, ids: []int{id}}), nil) {
				return
			}
		}
	}
}

// pause takes as long as the spec's hash says: often nothing.
func (w *world) pause(ctx context.Context, k, epoch, id int) error {
	d := time.Duration(w.spec.hash(k, epoch, id, 1)%8) - 4
	if d <= 0 || w.spec.quick && id%100 != 90 {
		return ctx.Err()
	}
	return pipetest.Sleep(ctx, d*time.Millisecond)
}

// enter notes that an operation of stage k runs, and checks what has to hold then.
func (w *world) enter(ctx context.Context, k int) (leave func()) {
	st := w.spec.stages[k]
	leaveStage := w.gauges[k].Enter()
	w.mu.Lock()
	most := w.most[k]
	w.mu.Unlock()
	if n := w.gauges[k].Now(); n > most {
		w.fault("%d operations of stage %d at once", n, k)
	}
	permit := pipe.Permit(ctx)
	if !st.gated {
		if permit != -1 {
			w.fault("permit %d without a gate", permit)
		}
		return leaveStage
	}
	leaveGate := w.gates.Enter()
	w.mu.Lock()
	defer w.mu.Unlock()
	if permit < 0 || permit >= w.gate.Limit() || w.permits[permit] || w.gates.Now() > w.gate.Limit() {
		w.faults = append(w.faults, fmt.Sprintf("permit %d, held already: %v; %d at once", permit, w.permits[permit], w.gates.Now()))
	}
	w.permits[permit] = true
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.permits[permit] = false
		leaveGate()
		leaveStage()
	}
}

// meet takes as long as it takes, and brings the item's fate.
func (w *world) meet(ctx context.Context, k int, v *thing) error {
	defer w.enter(ctx, k)()
	defer w.things.Gone(v)
	if err := w.pause(ctx, k, v.epoch, v.ids[0]); err != nil {
		return err
	}
	pipe.AddBytes(ctx, 10)
	switch w.spec.fate(k, v.epoch, v.ids[0]) {
	case skips:
		return fmt.Errorf("not needed: %w", pipe.Skip)
	case fails:
		return errFault
	case panics:
		panic(errFault)
	}
	return nil
}

func (w *world) operate(k int) func(context.Context, *thing) (*thing, error) {
	return func(ctx context.Context, v *thing) (*thing, error) {
		if err := w.meet(ctx, k, v); err != nil {
			return nil, err
		}
		return w.things.Made(&thing{v.epoch, v.ids, v.members}), nil
	}
}

func (w *world) fill(k int) func(context.Context, *thing, *block, int) error {
	return func(ctx context.Context, v *thing, b *block, row int) error {
		if b.rows[row] != nil {
			w.fault("row %d of a block is given twice", row)
		}
		if err := w.meet(ctx, k, v); err != nil {
			return err
		}
		b.rows[row] = &thing{v.epoch, v.ids, v.members}
		return nil
	}
}

// join makes one thing of a batch.
func (w *world) join(batch []*thing) *thing {
	all := &thing{epoch: batch[0].epoch, members: len(batch)}
	for _, v := range batch {
		if v.epoch != all.epoch {
			w.fault("a batch of epochs %d and %d", all.epoch, v.epoch)
		}
		all.ids = append(all.ids, v.ids...)
		w.things.Gone(v)
	}
	return w.things.Made(all)
}

func (w *world) empty() func(context.Context, *block) (*thing, error) {
	return func(_ context.Context, b *block) (*thing, error) {
		batch := make([]*thing, 0, b.sealed)
		for _, row := range b.rows[:b.sealed] {
			if row == nil {
				w.fault("a sealed batch has a hole")
				continue
			}
			batch = append(batch, w.things.Made(row))
		}
		b.store.Drop(b)
		return w.join(batch), nil
	}
}

// blocks is the store: its pool is bounded, and its methods check that they are called as
// promised.
type blocks struct {
	*world
	n         int
	free      chan struct{} // full when all blocks are out
	reserving sync.Mutex
	using     sync.Mutex
}

func (s *blocks) Reserve(ctx context.Context) (*block, error) {
	defer s.alone(&s.reserving)()
	select {
	case s.free <- struct{}{}:
		return s.blocks.Made(&block{rows: make([]*thing, s.n), store: s}), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *blocks) Move(dst *block, to int, src *block, from int) {
	defer s.alone(&s.using)()
	if src.rows[from] == nil || dst.rows[to] != nil || dst.sealed > 0 {
		s.fault("row %d moves from %v to %d, where there is %v", from, src.rows[from], to, dst.rows[to])
	}
	dst.rows[to], src.rows[from] = src.rows[from], nil
}

func (s *blocks) Seal(b *block, rows int) error {
	defer s.alone(&s.using)()
	if rows < 1 || rows > s.n || b.sealed > 0 {
		s.fault("a block of %d rows is sealed with %d rows, after %d", s.n, rows, b.sealed)
	}
	b.sealed = rows
	return nil
}

func (s *blocks) Drop(b *block) {
	s.blocks.Gone(b)
	<-s.free
}

func (s *blocks) alone(mu *sync.Mutex) func() {
	if !mu.TryLock() {
		s.fault("two goroutines in a store")
		return func() {}
	}
	return mu.Unlock
}

// run consumes up to cut events, then cancels or closes, and returns what it saw.
func (w *world) run(resume pipe.State, cut int, cancel bool) (events []event) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	run, err := pipe.Start(ctx, w.flow(), pipe.Config{
		Resume: resume, Epoch: w.spec.first, Epochs: w.spec.epochs - max(0, epochOf(resume)-w.spec.first), Failures: w.spec.failures,
		Hooks: pipe.Hooks{Lost: func(l pipe.Loss) { w.losses = append(w.losses, l) }},
	})
	if err != nil {
		w.fault("start: %v", err)
		return nil
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		w.changeByClock(ctx, run)
	}()
	defer func() { <-over }()
	defer stop()
	for len(events) < cut {
		for _, c := range w.changes {
			if c.before == len(events) {
				w.change(run, c)
			}
		}
		e, on := w.see(run)
		if !on {
			break
		}
		events = append(events, e)
		if e.kind == "error" {
			break
		}
	}
	if cancel {
		stop()
		for { // what was ready may still come
			v, err := run.Next(context.Background())
			if err != nil && err != io.EOF {
				break
			}
			if err == nil {
				w.things.Gone(v)
			}
		}
	}
	if err := run.Close(); err != nil {
		w.fault("close: %v", err)
	}
	w.check(run)
	return events
}

func (w *world) changeByClock(ctx context.Context, run *pipe.Run[*thing]) {
	for _, c := range w.changes {
		if c.before >= 0 {
			continue
		}
		if pipetest.Sleep(ctx, time.Duration(c.after)*time.Millisecond) != nil {
			return
		}
		w.change(run, c)
	}
}

func (w *world) change(run *pipe.Run[*thing], c change) {
	name := w.spec.name(c.stage)
	if c.flat {
		name += " flat"
	} else {
		w.mu.Lock()
		w.most[c.stage] = max(w.most[c.stage], c.n)
		w.mu.Unlock()
	}
	if err := run.SetWorkers(name, c.n); err != nil && err != pipe.ErrClosed {
		w.fault("SetWorkers: %v", err)
	}
}

// see takes one event; on is false after the last epoch.
func (w *world) see(run *pipe.Run[*thing]) (e event, on bool) {
	before := sourceState(run)
	v, err := run.Next(context.Background())
	failure := (*pipe.StageError)(nil)
	switch {
	case err == nil:
		e = event{kind: "item", ids: v.ids}
		w.things.Gone(v)
		if v.epoch != before.Epoch {
			w.fault("an item of epoch %d in epoch %d", v.epoch, before.Epoch)
		}
	case err == io.EOF:
		e = event{kind: "end"}
	case errors.As(err, &failure):
		e = event{kind: "error", stage: failure.Stage, epoch: failure.Epoch, pos: failure.Pos}
		if _, again := run.Next(context.Background()); again != err {
			w.fault("the failure %v is followed by %v", err, again)
		}
	default:
		if err != pipe.ErrDone {
			w.fault("next: %v", err)
		}
		return e, false
	}
	e.state = sourceState(run)
	e.losses, w.losses = slices.Clone(w.losses), nil
	for _, l := range e.losses {
		if !errors.Is(l.Err, errFault) {
			w.fault("the loss of %d is not its fault: %v", l.Pos, l.Err)
		}
	}
	return e, true
}

func sourceState(run *pipe.Run[*thing]) pipe.SourceState { return run.State().Sources["source"] }

func epochOf(s pipe.State) int { return s.Sources["source"].Epoch }

// check looks at what is left after Close.
func (w *world) check(run *pipe.Run[*thing]) {
	w.faults = append(w.faults, w.things.Faults()...)
	w.faults = append(w.faults, w.blocks.Faults()...)
	for k := range w.gauges {
		if n := w.gauges[k].Now(); n > 0 {
			w.fault("%d operations of stage %d run after Close", n, k)
		}
	}
	for _, st := range run.Stats().Stages {
		if life := st.Starved + st.Busy + st.Blocked + st.Gated; life < 0 || st.In < 0 {
			w.fault("odd numbers: %+v", st)
		}
	}
}
