package pipe_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"headrace/pipe"
	"headrace/pipe/pipetest"
)

// A filling is a random Fill, or FillGroups: what becomes of each number in which row,
// and how its store behaves.
type filling struct {
	items, n int
	groups   bool
	ends     []bool // of the groups, for each number
	fates    []rowFate
	pauses   []time.Duration
	room     int // batches that the store has; 0: any number
	cut      int // the batches that are taken before Close; -1: all
	epochs   int
	o        pipe.FillOpts
	changes  []int // numbers of workers that are set, one every few milliseconds
	sizes    []int // of runs, one after the other; nil: operations are of one number
}

type rowFate int

const (
	written rowFate = iota
	failed
	skipped
	heedful // too late, and returns when its context ends
	deaf    // too late, and returns long after
	lasting // returns only when the test is over
	unsaid  // of a run: the operation returns without it
)

func drawFilling(rt *rapid.T) filling {
	number := func(what string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(rt, what) }
	m := filling{items: number("items", 0, 40), n: number("n", 1, 5), groups: rapid.Bool().Draw(rt, "groups"), cut: -1, epochs: number("epochs", 1, 2)}
	m.o = pipe.FillOpts{Name: "fill", Workers: number("workers", 1, 6), Buffer: number("buffer", 0, 3), Ordered: rapid.Bool().Draw(rt, "ordered"), Limit: time.Second}
	if rapid.Bool().Draw(rt, "gate") {
		m.o.Gate = pipe.NewGate(number("permits", 1, 3))
	}
	m.o.DropLast = !m.groups && rapid.Bool().Draw(rt, "drop last")
	stuck, size := 0, 0
	for range m.items {
		size++
		end := size == m.n || number("end", 0, 2) == 0
		m.ends = append(m.ends, end)
		if end {
			size = 0
		}
		fate := rapid.SampledFrom([]rowFate{written, written, written, written, failed, skipped, heedful, deaf, lasting}).Draw(rt, "fate")
		if fate == deaf || fate == lasting {
			if stuck++; stuck*m.epochs > m.o.Workers {
				fate = written
			}
		}
		m.fates = append(m.fates, fate)
		m.pauses = append(m.pauses, time.Duration(max(0, number("pause", -20, 20)))*time.Millisecond)
	}
	if !m.groups && rapid.Bool().Draw(rt, "runs") {
		m.o.Gate, m.o.Limit = nil, 0
		m.sizes = rapid.SliceOfN(rapid.IntRange(1, 8), 1, 6).Draw(rt, "sizes")
		for v, fate := range m.fates {
			if fate >= heedful {
				m.fates[v] = unsaid
			}
		}
	}
	if rapid.Bool().Draw(rt, "cut") {
		m.cut = number("after", 0, 6)
	}
	if rapid.Bool().Draw(rt, "workers change") {
		for range number("changes", 1, 10) {
			m.changes = append(m.changes, number("workers", max(1, min(stuck*m.epochs, m.o.Workers)), 8))
		}
	}
	if rapid.Bool().Draw(rt, "small store") {
		m.room = 2*slices.Max(append(m.changes, m.o.Workers)) + 4
	}
	return m
}

// expect is the model: the numbers of every batch of an epoch in input order.
func (m filling) expect() (batches [][]int) {
	var batch []int
	flush := func() {
		if len(batch) > 0 {
			batches = append(batches, batch)
		}
		batch = nil
	}
	for v, fate := range m.fates {
		if fate == written {
			batch = append(batch, v)
		}
		if m.groups && m.ends[v] || !m.groups && len(batch) == m.n {
			flush()
		}
	}
	if !m.o.DropLast {
		flush()
	}
	return batches
}

// A crate is a batch of a cellar, which counts what becomes of it.
type crate struct {
	cellar *cellar
	rows   []int
	sealed bool
	ended  int // how often it was sealed or dropped
}

// A cellar is a store that finds faults: batches that end twice or never, rows that are
// written into batches that have left, calls at once.
type cellar struct {
	n    int
	room chan struct{} // nil: any number

	mu        sync.Mutex
	all       []*crate
	faults    []string
	reserving bool
	moving    bool
}

func newCellar(n, room int) *cellar {
	c := &cellar{n: n}
	if room > 0 {
		c.room = make(chan struct{}, room)
	}
	return c
}

func (c *cellar) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

// alone finds calls of one kind that run at once.
func (c *cellar) alone(busy *bool) func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if *busy {
		c.fault("two goroutines are in the store at once")
	}
	*busy = true
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		*busy = false
	}
}

func (c *cellar) Reserve(ctx context.Context) (*crate, error) {
	defer c.alone(&c.reserving)()
	if c.room != nil {
		select {
		case c.room <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	b := &crate{cellar: c, rows: slices.Repeat([]int{noRow}, c.n)}
	c.all = append(c.all, b)
	return b, nil
}

// set writes a row.
func (b *crate) set(row, v int) {
	b.cellar.mu.Lock()
	defer b.cellar.mu.Unlock()
	if b.ended > 0 {
		b.cellar.fault("%d was written into a batch that has left", v)
	}
	b.rows[row] = v
}

func (c *cellar) Move(dst *crate, to int, src *crate, from int) {
	defer c.alone(&c.moving)()
	c.mu.Lock()
	v := src.rows[from]
	if src.ended > 0 {
		c.fault("%d was moved out of a batch that has left", v)
	}
	c.mu.Unlock()
	dst.set(to, v)
}

func (c *cellar) Seal(b *crate, rows int) error {
	defer c.alone(&c.moving)()
	c.mu.Lock()
	defer c.mu.Unlock()
	b.ended++
	b.sealed = true
	b.rows = b.rows[:rows]
	return nil
}

func (c *cellar) Drop(b *crate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b.sealed {
		b.sealed = false // handed on, and not taken by anyone
		b.ended--
	}
	b.ended++
	if c.room != nil {
		<-c.room
	}
}

// leaks counts batches that were not ended exactly once.
func (c *cellar) leaks() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range c.all {
		if b.ended != 1 {
			n++
		}
	}
	return n
}

const lateWrite = -7

// flow is the real thing. What waits for free returns with it.
func (m filling) flow(c *cellar, free chan struct{}) pipe.Flow[*crate] {
	op := func(ctx context.Context, v int, b *crate, row int) error {
		if err := pipetest.Sleep(ctx, m.pauses[v]); err != nil {
			return err
		}
		switch m.fates[v] {
		case failed:
			b.set(row, lateWrite)
			return errFault
		case skipped:
			return pipe.Skip
		case heedful:
			<-ctx.Done()
			b.set(row, lateWrite)
			return ctx.Err()
		case deaf:
			select {
			case <-time.After(time.Duration(3+v) * time.Second):
			case <-free:
			}
			b.set(row, lateWrite)
			return nil
		case unsaid:
			return errFault
		case lasting:
			<-free
			b.set(row, lateWrite)
			return errFault
		}
		b.set(row, v)
		return nil
	}
	numbers := pipe.From("numbers", pipetest.Numbers{N: m.items})
	if m.groups {
		return pipe.FillGroups(numbers, m.n, func(v int) bool { return m.ends[v] }, c, op, m.o)
	}
	if m.sizes != nil {
		asked := new(atomic.Int64)
		size := func() int { return m.sizes[int(asked.Add(1))%len(m.sizes)] }
		return pipe.FillRuns(numbers, m.n, c, op, m.several(op), size, m.o)
	}
	return pipe.Fill(numbers, m.n, c, op, m.o)
}

// several works on all numbers of a run at once, and tells of each when it is done.
func (m filling) several(op func(context.Context, int, *crate, int) error) func(context.Context, []pipe.Row[int, *crate], func(int, error)) {
	return func(ctx context.Context, run []pipe.Row[int, *crate], done func(int, error)) {
		type outcome struct {
			i   int
			err error
		}
		outcomes := make(chan outcome)
		for i, r := range run {
			go func() { outcomes <- outcome{i, op(ctx, r.Item, r.Batch, r.Row)} }()
		}
		for range run {
			if o := <-outcomes; m.fates[run[o.i].Item] != unsaid {
				done(o.i, o.err)
			}
		}
	}
}

// Whatever fails, is skipped, takes too long or never returns, batches are those of a
// sequential model, every batch that was reserved is sealed or dropped once, and nothing
// is written into one that has left.
func TestFillsFollowTheModel(t *testing.T) {
	for round := range modelRounds {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				m := drawFilling(rt)
				var faults faultList
				synctest.Test(t, func(*testing.T) { m.check(&faults) })
				if len(faults) > 0 {
					rt.Fatalf("%s\n%+v", strings.Join(faults, "\n"), m)
				}
			})
		})
	}
}

// A faultList is what a check inside a bubble has found.
type faultList []string

func (l *faultList) Errorf(format string, args ...any) { *l = append(*l, fmt.Sprintf(format, args...)) }

func (m filling) check(rt *faultList) {
	c, free := newCellar(m.n, m.room), make(chan struct{})
	lost := make(map[int64]int)
	run, err := pipe.Start(context.Background(), m.flow(c, free), pipe.Config{
		Epochs: m.epochs, Failures: pipe.Policy{Skip: true, Count: -1}, Hooks: pipe.Hooks{Lost: func(l pipe.Loss) { lost[l.Pos]++ }},
	})
	if err != nil {
		rt.Errorf("%v", err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	changed := make(chan error)
	go func() { changed <- m.change(ctx, run) }()
	got, ended := m.take(rt, c, run)
	stop()
	if err := <-changed; err != nil {
		rt.Errorf("SetWorkers: %v", err)
	}
	synctest.Wait()
	closing := run.Close()
	if busy := (*pipe.BusyError)(nil); closing != nil && !errors.As(closing, &busy) {
		rt.Errorf("Close: %v", closing)
	}
	close(free)
	synctest.Wait()
	if err := run.Close(); err != nil {
		rt.Errorf("Close again: %v", err)
	}
	if n := c.leaks(); n > 0 || len(c.faults) > 0 {
		rt.Errorf("%d of %d batches were not ended once; %s", n, len(c.all), strings.Join(c.faults, "; "))
	}
	m.compare(rt, got, ended, lost)
}

func (m filling) change(ctx context.Context, run *pipe.Run[*crate]) error {
	for _, n := range m.changes {
		if pipetest.Sleep(ctx, time.Duration(n*7%10)*time.Millisecond) != nil {
			return nil
		}
		if err := run.SetWorkers("fill", n); err != nil {
			return err
		}
	}
	return nil
}

// take takes batches, as many as are wanted. It tells how many epochs have ended.
func (m filling) take(rt *faultList, c *cellar, run *pipe.Run[*crate]) (got [][][]int, ended int) {
	got = [][][]int{nil}
	for left := m.cut; left != 0; left-- {
		b, err := run.Next(context.Background())
		switch {
		case err == nil:
			got[ended] = append(got[ended], slices.Clone(b.rows))
			if c.room != nil {
				<-c.room
			}
		case err == io.EOF:
			ended++
			got = append(got, nil)
		case errors.Is(err, pipe.ErrDone):
			return got, ended
		default:
			rt.Errorf("%v", err)
			return got, ended
		}
	}
	return got, ended
}

func (m filling) compare(rt *faultList, got [][][]int, ended int, lost map[int64]int) {
	want := m.expect()
	for epoch, batches := range got {
		switch {
		case m.groups || m.o.Ordered:
			if whole := epoch < ended; whole && fmt.Sprint(batches) != fmt.Sprint(want) || !whole && !strings.HasPrefix(fmt.Sprint(want), strings.TrimSuffix(fmt.Sprint(batches), "]")) {
				rt.Errorf("epoch %d: %v, not %v", epoch, batches, want)
			}
		case epoch < ended:
			m.compareAnywhere(rt, batches, want)
		}
	}
	for v, fate := range m.fates {
		times := lost[int64(v)]
		if bad := fate != written && fate != skipped; ended == m.epochs && bad && times != m.epochs || !bad && times > 0 || times > m.epochs {
			rt.Errorf("%d was lost %d times", v, times)
		}
	}
}

// compareAnywhere compares the numbers, and the sizes of the batches.
func (m filling) compareAnywhere(rt *faultList, got, want [][]int) {
	all, survivors := slices.Sorted(slices.Values(slices.Concat(got...))), m
	survivors.o.DropLast = false
	expected := slices.Concat(survivors.expect()...)
	switch {
	case !m.o.DropLast && !slices.Equal(all, expected):
		rt.Errorf("%v, not %v", all, expected)
	case len(all) != len(slices.Concat(want...)) || len(slices.Compact(all)) != len(slices.Concat(want...)):
		rt.Errorf("%v", got)
	}
	for k, b := range got {
		if len(b) != m.n && k != len(got)-1 {
			rt.Errorf("a batch of %d: %v", len(b), got)
		}
	}
}
