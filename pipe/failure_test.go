package pipe_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

var errBad = errors.New("bad")

// failing fails for some values, after a while.
func failing(bad ...int) func(context.Context, int) (int, error) {
	return func(ctx context.Context, v int) (int, error) {
		if _, err := restless(ctx, v); err != nil {
			return 0, err
		}
		if slices.Contains(bad, v) {
			return 0, fmt.Errorf("value %d: %w", v, errBad)
		}
		return v, nil
	}
}

// drain reads until something else than an item comes.
func drain[T any](run *pipe.Run[T]) (all []T, err error) {
	for {
		v, err := run.Next(context.Background())
		if err != nil {
			return all, err
		}
		all = append(all, v)
	}
}

// After a failure at position p all outputs before p come, and then the failure, for
// ever.
func TestE33FailureComesOutOfTheLoop(t *testing.T) {
	for _, workers := range []int{1, 2, 8} {
		for _, bad := range []int{0, 1, 13, 29} {
			synctest.Test(t, func(t *testing.T) {
				f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 30}), failing(bad, bad+1, bad+3), pipe.Opts{Name: "map", Workers: workers, Ordered: true})
				run := start(t, f, pipe.Config{})
				defer run.Close()
				got, err := drain(run)
				stage := (*pipe.StageError)(nil)
				if !errors.As(err, &stage) || stage.Stage != "map" || stage.Pos != int64(bad) || stage.Epoch != 0 || !errors.Is(err, errBad) {
					t.Errorf("%d workers, %d is bad: %v", workers, bad, err)
				}
				if !slices.Equal(got, upTo(bad)) {
					t.Errorf("%d workers, %d is bad: %v", workers, bad, got)
				}
				if _, again := run.Next(context.Background()); again != err {
					t.Errorf("the second time: %v", again)
				}
				if low := run.State().Sources["numbers"].Low; low != int64(bad) {
					t.Errorf("the state says %d, %d is bad", low, bad)
				}
			})
		}
	}
}

func TestE32SourceFailureComesAfterWhatWasMade(t *testing.T) {
	for name, fail := range map[string]func(int, int64) error{
		"error": func(_ int, pos int64) error {
			if pos == 7 {
				return errBad
			}
			return nil
		},
		"panic": func(_ int, pos int64) error {
			if pos == 7 {
				panic(errBad)
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 30, Fail: fail}), restless, pipe.Opts{Name: "map", Workers: 3})
				run := start(t, f, pipe.Config{})
				defer run.Close()
				got, err := drain(run)
				stage := (*pipe.StageError)(nil)
				if !errors.As(err, &stage) || stage.Stage != "numbers" || stage.Pos != 7 || !errors.Is(err, errBad) {
					t.Errorf("%v", err)
				}
				if slices.Sort(got); !slices.Equal(got, upTo(7)) {
					t.Errorf("%v", got)
				}
			})
		})
	}
}

func TestE29Count(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		for _, own := range []bool{false, true} {
			for failures := 0; failures <= 5; failures++ {
				t.Run(fmt.Sprintf("ordered %v own %v failures %d", ordered, own, failures), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						policy := pipe.Policy{Skip: true, Count: 3}
						o := pipe.Opts{Name: "map", Workers: 4, Ordered: ordered}
						c := pipe.Config{}
						var lost []pipe.Loss
						c.Hooks.Lost = func(l pipe.Loss) { lost = append(lost, l) }
						if own {
							o.Failures = &policy
						} else {
							c.Failures = policy
						}
						f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 30}), failing([]int{2, 3, 11, 17, 20}[:failures]...), o)
						run := start(t, f, c)
						defer run.Close()
						got, err := drain(run)
						if failures <= 3 {
							if err != io.EOF || len(got) != 30-failures || len(lost) != failures {
								t.Errorf("%v, %v, %v", got, lost, err)
							}
							return
						}
						stage := (*pipe.StageError)(nil)
						if !errors.As(err, &stage) || !errors.Is(err, errBad) || !strings.Contains(err.Error(), "tolerates 3") || len(lost) != 3 {
							t.Errorf("%v, %v, %v", got, lost, err)
						}
						if over := (*pipe.LossError)(nil); !errors.As(err, &over) || over.Policy != policy || over.Lost != 4 || over.Seen < 18 || over.Seen > 30 {
							t.Errorf("%+v", over)
						}
						if ordered && (stage.Pos != 17 || len(got) != 17-3) {
							t.Errorf("%v, %v", got, err)
						}
					})
				})
			}
		}
	}
}

// Ten failures in a hundred: the share is judged at the hundredth item, also when it does
// not fail, and all good items come.
func TestE30RateIsJudgedAfterAWarmUp(t *testing.T) {
	bad := []int{1, 2, 3, 30, 31, 32, 50, 60, 70, 80}
	for _, own := range []bool{false, true} {
		for _, c := range []struct {
			items int
			rate  float64
			stops bool
		}{{100, 0.11, false}, {100, 0.10, false}, {100, 0.09, true}, {99, 0.01, false}} {
			synctest.Test(t, func(t *testing.T) {
				policy := pipe.Policy{Skip: true, Rate: c.rate, After: 100}
				o, config := pipe.Opts{Name: "map", Workers: 3, Ordered: true}, pipe.Config{}
				if own {
					o.Failures = &policy
				} else {
					config.Failures = policy
				}
				run := start(t, pipe.Map(pipe.From("numbers", pipetest.Numbers{N: c.items}), failing(bad...), o), config)
				defer run.Close()
				got, err := drain(run)
				if stopped := err != io.EOF; stopped != c.stops || len(got) != c.items-len(bad) {
					t.Errorf("own %v, %+v: %d items, %v", own, c, len(got), err)
				}
			})
		}
	}
}

// Losses are counted again in each epoch, whoever counts them.
func TestPoliciesCountPerEpoch(t *testing.T) {
	for _, own := range []bool{false, true} {
		policy := pipe.Policy{Skip: true, Count: 2}
		config, o, fill := pipe.Config{Epochs: 3}, pipe.Opts{Name: "map", Workers: 2}, pipe.FillOpts{Name: "fill", Workers: 2, Ordered: true}
		bad := []int{5}
		if own {
			o.Failures, fill.Failures = &policy, &policy
			bad = []int{5, 6}
		} else {
			config.Failures = policy
		}
		f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 12}), failing(bad...), o)
		run := start(t, pipe.Fill(f, 3, plainStore{3}, writeUnless(bad[0]+2, 3), fill), config)
		defer run.Close()
		for epoch := range 3 {
			if _, err := drain(run); own && err != io.EOF {
				t.Errorf("own %v, epoch %d: %v", own, epoch, err)
			} else if !own && err == io.EOF {
				t.Errorf("own %v, epoch %d: three losses are tolerated", own, epoch)
			}
		}
	}
}

// What fails because the run was cancelled has not failed: it is neither told nor
// counted. Here operations cancel the run and return at once, so that they are sooner
// than whatever else the end of the context sets off.
func TestCancelIsNoLoss(t *testing.T) {
	for i := range 600 {
		ctx, stop := context.WithCancel(context.Background())
		cancel := func(stage, v int) error {
			if v < 5 || stage != i%3 {
				return nil
			}
			stop()
			return context.Canceled
		}
		f := pipe.From("numbers", pipetest.Numbers{N: 30, Fail: func(_ int, pos int64) error { return cancel(0, int(pos)) }})
		f = pipe.Map(f, func(_ context.Context, v int) (int, error) { return v, cancel(1, v) }, pipe.Opts{Name: "map", Workers: 2})
		fill := pipe.Fill(f, 1, plainStore{1}, func(_ context.Context, v int, b []int, row int) error { return cancel(2, v) }, pipe.FillOpts{Name: "fill"})
		run, err := pipe.Start(ctx, fill, pipe.Config{Failures: pipe.Policy{Skip: true, Count: -1}, Hooks: pipe.Hooks{Lost: func(l pipe.Loss) {
			t.Errorf("%v is told to be lost", l)
		}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := drain(run); !errors.Is(err, context.Canceled) || errors.As(err, new(*pipe.StageError)) {
			t.Errorf("%v", err)
		}
		run.Close()
		if at := run.State().Sources["numbers"]; len(at.Lost) > 0 {
			t.Errorf("%+v", at)
		}
	}
}

// Results do not wait for an operation that is stuck, and items that a worker has taken
// with one that fails, or cancels the run, are disposed of.
func TestRunOfItemsIsDisposedOf(t *testing.T) {
	for _, cancels := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancel(context.Background())
			defer stop()
			var owner pipetest.Owner[int]
			gap := make(chan bool)
			op := func(ctx context.Context, v int) (int, error) {
				if v == 600 {
					<-gap // while the source fills its queue; no time passes
				}
				if v == 604 {
					owner.Gone(v)
					if cancels {
						stop()
						return 0, ctx.Err()
					}
					return 0, errBad
				}
				return v, nil
			}
			f := pipe.From("numbers", pipetest.Numbers{N: -1, Pulled: func(_ int, pos int64) { owner.Made(int(pos)) }})
			f = pipe.Map(pipe.Discard(f, owner.Gone), op, pipe.Opts{Name: "map", Buffer: 64, Ordered: true})
			run, err := pipe.Start(ctx, pipe.Discard(f, owner.Gone), pipe.Config{})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 600 {
				v, err := run.Next(ctx)
				if v != i || err != nil {
					t.Fatal(v, err)
				}
				owner.Gone(v)
			}
			synctest.Wait()
			gap <- true
			for {
				v, err := run.Next(context.Background())
				if err != nil {
					break
				}
				owner.Gone(v)
			}
			run.Close()
			if faults := owner.Faults(); len(faults) > 0 {
				t.Errorf("cancels %v: %v", cancels, faults)
			}
		})
	}
}

// A stage's own policy neither spends the run's nor is spent by other stages, and only
// the guilty stage is blamed.
func TestE31PoliciesOfStages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tolerant := pipe.Policy{Skip: true, Count: -1}
		f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 50}), failing(1, 2, 3, 4, 5, 6, 7, 8), pipe.Opts{Name: "loose", Workers: 3, Ordered: true, Failures: &tolerant})
		f = pipe.Map(f, failing(9, 10, 30), pipe.Opts{Name: "strict", Workers: 3, Ordered: true})
		run := start(t, f, pipe.Config{Failures: pipe.Policy{Skip: true, Count: 2}})
		defer run.Close()
		got, err := drain(run)
		stage := (*pipe.StageError)(nil)
		if !errors.As(err, &stage) || stage.Stage != "strict" || stage.Pos != 30 || len(got) != 30-8-2 {
			t.Errorf("%v, %v", got, err)
		}
		stats := run.Stats().Stages
		if stats[1].Lost != 8 || stats[2].Lost != 2 {
			t.Errorf("%v", run.Stats())
		}
	})
}

// Upstream of a failure everything is cancelled, downstream all that was made before
// comes through.
func TestE35UpstreamStopsDownstreamDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cancelled atomic.Int64
		slow := func(ctx context.Context, v int) (int, error) {
			if v < 10 {
				return v, nil
			}
			if err := pipetest.Sleep(ctx, time.Hour); err != nil {
				cancelled.Add(1)
				return 0, err
			}
			return v, nil
		}
		late := func(ctx context.Context, v int) (int, error) { return v, pipetest.Sleep(ctx, time.Second) }
		f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: -1}), slow, pipe.Opts{Name: "slow", Workers: 3, Ordered: true})
		f = pipe.Map(f, failing(5), pipe.Opts{Name: "bad", Workers: 2, Ordered: true})
		f = pipe.Map(f, late, pipe.Opts{Name: "late", Workers: 1, Ordered: true})
		began := time.Now()
		run := start(t, f, pipe.Config{})
		defer run.Close()
		got, err := drain(run)
		if !slices.Equal(got, upTo(5)) || !errors.Is(err, errBad) || errors.Is(err, context.Canceled) {
			t.Errorf("%v, %v", got, err)
		}
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("it took %v", took)
		}
		if cancelled.Load() == 0 {
			t.Error("no operation above was cancelled")
		}
	})
}

func TestE37PanicIsTheItemsFailure(t *testing.T) {
	explode := func(_ context.Context, v int) (int, error) {
		if v == 3 {
			panic(fmt.Errorf("value %d: %w", v, errBad))
		}
		return v, nil
	}
	var lost []pipe.Loss
	f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 6}), explode, pipe.Opts{Name: "map", Ordered: true})
	run := start(t, f, pipe.Config{Failures: pipe.Policy{Skip: true, Count: 1}, Hooks: pipe.Hooks{Lost: func(l pipe.Loss) { lost = append(lost, l) }}})
	defer run.Close()
	if got := collect(t, run); !slices.Equal(got, []int{0, 1, 2, 4, 5}) {
		t.Errorf("%v", got)
	}
	p := (*pipe.PanicError)(nil)
	if len(lost) != 1 || lost[0].Pos != 3 || lost[0].Stage != "map" || !errors.As(lost[0].Err, &p) || !errors.Is(lost[0].Err, errBad) {
		t.Fatalf("%v", lost)
	}
	if !strings.Contains(string(p.Stack), "TestE37PanicIsTheItemsFailure") {
		t.Errorf("the stack does not show where the panic began:\n%s", p.Stack)
	}
}

// exits ends its goroutine.
func exits(_ context.Context, v int) (int, error) {
	if v == 1 {
		runtime.Goexit()
	}
	return v, nil
}

// An operation that ends its goroutine is its item's failure, and stops the run.
func TestGoexitStopsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := pipe.NewGate(1)
		f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 6}), exits, pipe.Opts{Name: "map", Workers: 2, Ordered: true, Gate: gate})
		run := start(t, f, pipe.Config{})
		got, err := drain(run)
		stage := (*pipe.StageError)(nil)
		if !errors.As(err, &stage) || stage.Stage != "map" || stage.Pos != 1 || !slices.Equal(got, []int{0}) {
			t.Errorf("%v, then %v", got, err)
		}
		run.Close()
	})
}

func TestSkipIsQuiet(t *testing.T) {
	skip := func(_ context.Context, v int) (int, error) {
		if v%2 == 1 {
			return 0, fmt.Errorf("odd: %w", pipe.Skip)
		}
		return v, nil
	}
	f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 6}), skip, pipe.Opts{Name: "map", Ordered: true})
	run := start(t, f, pipe.Config{Hooks: pipe.Hooks{Lost: func(l pipe.Loss) { t.Errorf("%v is told to be lost", l) }}})
	defer run.Close()
	if got := collect(t, run); !slices.Equal(got, []int{0, 2, 4}) {
		t.Errorf("%v", got)
	}
	if s := run.Stats().Stages[1]; s.Skipped != 3 || s.Out != 3 || s.In != 6 || s.Lost != 0 {
		t.Errorf("%+v", s)
	}
}

// A failure of epoch 1 is reported in epoch 1, and no epoch after it comes.
func TestE49FailureOfAnEpoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := pipetest.Numbers{N: 5, Value: func(epoch int, pos int64) int { return 100*epoch + int(pos) }}
		f := pipe.Map(pipe.From("numbers", source), failing(103), pipe.Opts{Name: "map", Workers: 4, Ordered: true})
		run := start(t, f, pipe.Config{Epochs: 3})
		defer run.Close()
		collect(t, run)
		got, err := drain(run)
		stage := (*pipe.StageError)(nil)
		if !slices.Equal(got, []int{100, 101, 102}) || !errors.As(err, &stage) || stage.Epoch != 1 || stage.Pos != 3 {
			t.Errorf("%v, %v", got, err)
		}
	})
}

// stageErrors are those of which an error is joined.
func stageErrors(t *testing.T, err error) (all []pipe.StageError) {
	t.Helper()
	list := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		list = joined.Unwrap()
	}
	for _, err := range list {
		e, ok := err.(*pipe.StageError)
		if !ok {
			t.Fatalf("%T: %v", err, err)
		}
		all = append(all, *e)
	}
	return all
}

// Three stages of a chain have failed when the run ends: all are reported, with stage,
// item and cause; first the one that ended the run.
func TestE34AllFailuresAreReported(t *testing.T) {
	errSource, errFirst, errSecond := errors.New("source"), errors.New("first"), errors.New("second")
	fails := func(after time.Duration, err error, bad ...int) func(context.Context, int) (int, error) {
		return func(ctx context.Context, v int) (int, error) {
			if !slices.Contains(bad, v) {
				return v, nil
			}
			if late := pipetest.Sleep(ctx, after); late != nil {
				return 0, late
			}
			return 0, fmt.Errorf("value %d: %w", v, err)
		}
	}
	for _, workers := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			f := pipe.From("numbers", pipetest.Numbers{N: 30, Fail: func(_ int, pos int64) error {
				if pos == 14 {
					return errSource
				}
				return nil
			}})
			f = pipe.Map(f, fails(time.Second, errFirst, 8, 9), pipe.Opts{Name: "first", Workers: workers, Ordered: true, Buffer: 9})
			f = pipe.Map(f, fails(time.Minute, errSecond, 5), pipe.Opts{Name: "second", Ordered: true, Workers: workers})
			run := start(t, f, pipe.Config{})
			defer run.Close()
			got, err := drain(run)
			all := stageErrors(t, err)
			if !slices.Equal(got, upTo(5)) || len(all) != 3 {
				t.Fatalf("%v, %v", got, err)
			}
			for i, want := range []pipe.StageError{{Stage: "second", Pos: 5, Err: errSecond}, {Stage: "first", Pos: 8, Err: errFirst}, {Stage: "numbers", Pos: 14, Err: errSource}} {
				if e := all[i]; e.Stage != want.Stage || e.Pos != want.Pos || e.Source != "numbers" || !errors.Is(e.Err, want.Err) || !errors.Is(err, want.Err) {
					t.Errorf("%+v, not %+v", e, want)
				}
			}
			first := (*pipe.StageError)(nil)
			if !errors.As(err, &first) || first.Stage != "second" {
				t.Errorf("%v", first)
			}
			if _, again := run.Next(context.Background()); again != err {
				t.Errorf("the second time: %v", again)
			}
		})
	}
}

// What fails because of a failure is not reported, and a failure that a policy tolerates
// is a loss.
func TestE34OnlyFailuresAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: -1}), failing(9), pipe.Opts{Name: "tolerant", Workers: 3, Ordered: true, Failures: &pipe.Policy{Skip: true, Count: -1}})
		f = pipe.Map(f, func(ctx context.Context, v int) (int, error) {
			if v > 7 {
				<-ctx.Done()
				return 0, ctx.Err()
			}
			return v, nil
		}, pipe.Opts{Name: "waits", Workers: 3, Ordered: true})
		f = pipe.Map(f, failing(7), pipe.Opts{Name: "bad", Workers: 2, Ordered: true})
		run := start(t, f, pipe.Config{})
		defer run.Close()
		got, err := drain(run)
		if all := stageErrors(t, err); len(all) != 1 || all[0].Stage != "bad" || !slices.Equal(got, upTo(7)) {
			t.Errorf("%v, %v", got, err)
		}
	})
}

// In SPDL an exception of the loop's body is replaced by the pipeline's. Here the run's
// failure comes out of Next and nowhere else: Close, which is deferred, does not bring it
// up.
func TestE36ConsumersErrorIsItsOwn(t *testing.T) {
	errOwn := errors.New("the consumer's")
	train := func(t *testing.T) (err error) {
		run := start(t, pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 9}), failing(5), pipe.Opts{Name: "map", Ordered: true}), pipe.Config{})
		defer func() { err = errors.Join(err, run.Close()) }()
		for v, err := range run.All() {
			if err != nil {
				return err
			}
			if v == 2 {
				<-time.After(time.Hour) // the stage has failed meanwhile
				return errOwn
			}
		}
		return nil
	}
	synctest.Test(t, func(t *testing.T) {
		if err := train(t); !errors.Is(err, errOwn) || errors.Is(err, errBad) {
			t.Error(err)
		}
	})
}
