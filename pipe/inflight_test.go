package pipe_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// A stage whose workers are elsewhere has several items in hand for each of them,
// whatever its kind; all that is said of workers is said of those.
func TestInFlightPerWorker(t *testing.T) {
	for _, kind := range changeableKinds {
		if kind.kind == "filter" { // a map
			continue
		}
		t.Run(kind.kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var at pipetest.Gauge
				var staff []int
				o := pipe.Opts{Name: "work", Workers: 2, InFlightPerWorker: 3, Ordered: true, OnResize: func(n int) { staff = append(staff, n) }}
				run := start(t, kind.stage(pipe.From("numbers", pipetest.Numbers{N: -1}), gauged(&at, second), o), pipe.Config{})
				defer run.Close()
				go func() { _, _ = drain(run) }()
				for _, workers := range []int{2, 1, 4} {
					setWorkers(t, run, workers)
					<-time.After(2300 * time.Millisecond)
					want := 3 * workers
					if kind.kind == "flatmap" { // of sequences only so many are under way
						want = workers
					}
					if at.Now() != want || statsOf(run, "work").Workers != workers {
						t.Errorf("%d workers have %d items in hand; the numbers say %d", workers, at.Now(), statsOf(run, "work").Workers)
					}
				}
				if !slices.Equal(staff, []int{2, 2, 1, 4}) {
					t.Errorf("the staff was said to be %v", staff)
				}
			})
		})
	}
}

// elsewhere is where workers are that several operations wait for: whoever asks first is
// served first.
type elsewhere struct {
	mu         sync.Mutex
	change     sync.Cond
	free, size int
}

func newElsewhere() *elsewhere {
	e := &elsewhere{}
	e.change.L = &e.mu
	return e
}

func (e *elsewhere) staff(n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.free += n - e.size
	e.size = n
	e.change.Broadcast()
}

func (e *elsewhere) take() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for e.free <= 0 {
		e.change.Wait()
	}
	e.free--
}

func (e *elsewhere) give() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.free++
	e.change.Broadcast()
}

// Workers elsewhere make sequences that are longer than the queues. One that is under
// way, and whose outputs have to wait for those of an item before it, would keep a worker
// that this one needs: so they begin in the order of their items, however late who works
// on these comes to ask, and however many workers leave meanwhile.
func TestSequencesBeginInOrder(t *testing.T) {
	for _, ordered := range []bool{true, false} {
		t.Run(fmt.Sprint("ordered ", ordered), func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				late := rapid.SliceOfN(rapid.IntRange(0, 5), 20, 20).Draw(rt, "late")
				workers := rapid.SliceOfN(rapid.IntRange(1, 4), 1, 20).Draw(rt, "workers")
				hands := rapid.IntRange(1, 4).Draw(rt, "hands")
				synctest.Test(t, func(t *testing.T) {
					pool := newElsewhere()
					sequence := func(ctx context.Context, v int) iter.Seq2[int, error] {
						return func(yield func(int, error) bool) {
							pipetest.Sleep(ctx, time.Duration(late[v])*time.Millisecond)
							pool.take()
							defer pool.give()
							for i := range 10 {
								if !yield(100*v+i, nil) {
									return
								}
							}
						}
					}
					o := pipe.Opts{Name: "work", Workers: 2, InFlightPerWorker: hands, Buffer: 1, Ordered: ordered, OnResize: pool.staff}
					run := start(t, pipe.FlatMap(pipe.From("numbers", pipetest.Numbers{N: len(late)}), sequence, o), pipe.Config{Epochs: 2})
					defer run.Close()
					for range 2 {
						var want, got []int
						for v := range late {
							for i := range 10 {
								want = append(want, 100*v+i)
							}
						}
						for n := range len(want) {
							if n%10 == 3 {
								setWorkers(t, run, workers[n/10%len(workers)])
								<-time.After(time.Millisecond)
							}
							v, err := run.Next(t.Context())
							if err != nil {
								t.Fatal(err)
							}
							got = append(got, v)
						}
						if _, err := run.Next(t.Context()); err != io.EOF {
							t.Fatal(err)
						}
						if !ordered {
							slices.Sort(got)
						}
						if !slices.Equal(got, want) {
							t.Errorf("%v", got)
						}
					}
				})
			})
		})
	}
}

// A stage that waits elsewhere, and computes now and then, does that with a permit of a
// gate that is not its own.
func TestGated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := pipe.NewGate(2)
		var at pipetest.Gauge
		compute := gauged(&at, second)
		op := func(ctx context.Context, v int) (out int, err error) {
			err = pipe.InGate(ctx, gate, func() error {
				return pipe.InGate(ctx, gate, func() (err error) {
					if p := pipe.Permit(ctx); p < 0 || p > 1 {
						return fmt.Errorf("permit %d", p)
					}
					out, err = compute(ctx, v)
					return err
				})
			})
			if p := pipe.Permit(ctx); p != -1 {
				return 0, fmt.Errorf("permit %d after", p)
			}
			return out, err
		}
		run := start(t, pipe.Map(pipe.From("numbers", pipetest.Numbers{N: -1}), op, pipe.Opts{Name: "work", Workers: 10}), pipe.Config{})
		defer run.Close()
		failed := make(chan error, 1)
		go func() {
			_, err := drain(run)
			failed <- err
		}()
		<-time.After(2300 * time.Millisecond)
		select {
		case err := <-failed:
			t.Fatal(err)
		default:
		}
		if at.Now() != 2 {
			t.Errorf("%d compute at once", at.Now())
		}
	})
	if err := pipe.InGate(t.Context(), pipe.NewGate(1), func() error { return nil }); err != nil {
		t.Error(err)
	}
}

// An operation that is abandoned while it has a permit of another gate gives that back,
// and its worker goes on.
func TestGatedOperationsAreAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := pipe.NewGate(1)
		slow := pipe.Limit(func(ctx context.Context, v int) (int, error) {
			if v == 0 {
				<-time.After(time.Hour)
			}
			return v, nil
		}, time.Second, nil)
		op := func(ctx context.Context, v int) (out int, err error) {
			err = pipe.InGate(ctx, gate, func() (err error) {
				out, err = slow(ctx, v)
				return err
			})
			return out, err
		}
		run := start(t, pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 5}), op, pipe.Opts{Name: "work", Workers: 2, Ordered: true}),
			pipe.Config{Failures: pipe.Policy{Skip: true, Count: 1}})
		defer run.Close()
		got, err := drain(run)
		if err != io.EOF || !slices.Equal(got, []int{1, 2, 3, 4}) {
			t.Errorf("%v, %v", got, err)
		}
		<-time.After(2 * time.Hour)
		if statsOf(run, "work").Abandoned != 1 {
			t.Error("nothing was abandoned")
		}
	})
}

// What is wrong with an operation ends the run, though failures of items are skipped,
// retried and replaced.
func TestStop(t *testing.T) {
	wrong := errors.New("wrong with all")
	calls := 0
	op := pipe.Replace(pipe.Retry(func(context.Context, int) (int, error) {
		calls++
		return 0, fmt.Errorf("told: %w", pipe.Stop(wrong))
	}, pipe.Backoff{Times: 5}), func(context.Context, int, error) (int, error) { return 1, nil })
	run := start(t, pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 5}), op, pipe.Opts{Name: "work"}), pipe.Config{Failures: pipe.Policy{Skip: true, Count: -1}})
	defer run.Close()
	if _, err := run.Next(t.Context()); !errors.Is(err, wrong) || !pipe.Stops(err) || calls != 1 {
		t.Errorf("%v, after %d calls", err, calls)
	}
	if pipe.Stop(nil) != nil || pipe.Stops(wrong) {
		t.Error("nothing ends the run")
	}
}

// What a stage with workers elsewhere says of itself is about these, and not about the
// items in hand, most of which wait for one.
func TestStatsOfWorkersElsewhere(t *testing.T) {
	const each = 10 * time.Millisecond
	for name, c := range map[string]struct {
		ahead, behind time.Duration // that the source and the consumer take for an item
		worked        time.Duration // what workers say; the rest is the way to them
		want          pipe.Shares
	}{
		"they limit":          {0, 0, each, pipe.Shares{Busy: 1}},
		"the way limits":      {0, 0, each / 5, pipe.Shares{Busy: 1}},
		"the source limits":   {2 * each, 0, each, pipe.Shares{Starved: 0.75, Busy: 0.25}},
		"the consumer limits": {0, 2 * each, each, pipe.Shares{Busy: 0.25, Blocked: 0.75}},
	} {
		for _, kind := range changeableKinds {
			if kind.kind == "filter" || kind.kind == "fill" && c.behind > 0 { // a map; and one that waits for room in the middle of an operation
				continue
			}
			t.Run(name+", "+kind.kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					pool := newElsewhere()
					work := func(ctx context.Context, n int) (int, error) {
						pool.take()
						defer pool.give()
						<-time.After(each)
						pipe.Worked(ctx, c.worked)
						return n, nil
					}
					numbers := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 400}), takes(c.ahead), pipe.Opts{Name: "ahead"})
					o := pipe.Opts{Name: "work", Workers: 2, InFlightPerWorker: 8, OnResize: pool.staff}
					began := time.Now()
					var lives spans
					run := start(t, kind.stage(numbers, work, o), pipe.Config{Hooks: pipe.Hooks{Span: lives.add}})
					defer run.Close()
					for i := range 400 {
						if _, err := run.Next(t.Context()); err != nil {
							t.Fatal(i, err)
						}
						pipetest.Sleep(t.Context(), c.behind)
					}
					synctest.Wait() // the last one is handed on before it is counted
					s := statsOf(run, "work")
					got := s.Shares()
					for i, pair := range [][2]float64{{got.Starved, c.want.Starved}, {got.Busy, c.want.Busy}, {got.Blocked, c.want.Blocked}, {got.Gated, c.want.Gated}} {
						if math.Abs(pair[0]-pair[1]) > 0.05 {
							t.Errorf("share %d is %.3f, want %.3f", i, pair[0], pair[1])
						}
					}
					if s.Busy != 400*c.worked || s.InFlightPerWorker != 8 || s.P50 < c.worked || s.P50 > c.worked*11/10 || s.P99 > c.worked*11/10 {
						t.Errorf("busy for %v, %d in hand, p50 %v, p99 %v", s.Busy, s.InFlightPerWorker, s.P50, s.P99)
					}
					run.Close()
					lives.check(t, began, run.Stats(), true)
					for _, one := range lives.all {
						if one.Stage == "work" && one.Kind == pipe.Operation && one.Items > 0 && one.Took != c.worked {
							t.Errorf("%+v", one)
						}
					}
				})
			})
		}
	}
}

// A stage that is through long before the others does not limit them, however busy it was
// while it lived.
func TestSharesOfAStageThatIsThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quick := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 10}), takes(time.Second), pipe.Opts{Name: "quick", Buffer: 10})
		run := start(t, pipe.Map(quick, takes(9*time.Second), pipe.Opts{Name: "slow"}), pipe.Config{})
		defer run.Close()
		if _, err := drain(run); err != io.EOF {
			t.Fatal(err)
		}
		<-time.After(time.Hour) // when all are through, nobody is starved any more
		for stage, want := range map[string]float64{"quick": 10. / 91, "slow": 90. / 91} {
			s := statsOf(run, stage)
			if got := s.Shares(); math.Abs(got.Busy-want) > 0.01 || math.Abs(got.Starved+got.Busy-1) > 0.01 {
				t.Errorf("%s: %+v, want to be busy for %.3f", stage, got, want)
			}
		}
		if s := statsOf(run, "quick"); s.Over != 81*time.Second {
			t.Errorf("through for %v", s.Over)
		}
	})
}
