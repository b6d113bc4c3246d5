package pipe_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

func panicking() error { panic(errBad) }

func leaving() error {
	runtime.Goexit()
	return nil
}

// An ending is how a run ended.
type ending struct {
	got         []int
	stage       string
	source      string
	epoch       int
	pos         int64
	hook        bool
	complaining bool
}

func (e ending) String() string {
	return fmt.Sprintf("%v, then stage %s, %s %d/%d, hook %v, complaints %v", e.got, e.stage, e.source, e.epoch, e.pos, e.hook, e.complaining)
}

// endingOf reads a run to its end, at most so many items.
func endingOf(t *testing.T, f pipe.Flow[int], c pipe.Config, most int, gone func(int)) (e ending, why error) {
	run, err := pipe.Start(context.Background(), f, c)
	if err != nil {
		t.Fatal(err)
	}
	for len(e.got) < most {
		v, err := run.Next(context.Background())
		if failed := (*pipe.StageError)(nil); errors.As(err, &failed) {
			e.stage, e.source, e.epoch, e.pos, why = failed.Stage, failed.Source, failed.Epoch, failed.Pos, err
			e.hook = errors.As(err, new(*pipe.HookError))
			break
		}
		if err == pipe.ErrDone {
			break
		}
		if err == nil {
			e.got = append(e.got, v)
			gone(v)
		}
	}
	e.complaining = run.Close() != nil
	return e, why
}

// A weird aggregator ends its goroutine, or panics, wherever it is asked to.
type weird struct {
	pairs
	flush func() error
}

func (a *weird) Flush(ctx context.Context, e *pipe.Emitter[int, []int]) error {
	if err := a.flush(); err != nil {
		return err
	}
	return a.pairs.Flush(ctx, e)
}

// A touchyStore does something in one of its methods.
type touchyStore struct {
	*rowStore
	in  string
	end func()
}

func (s touchyStore) Reserve(ctx context.Context) (*rows, error) {
	s.touch("reserve")
	return s.rowStore.Reserve(ctx)
}

func (s touchyStore) Move(dst *rows, to int, src *rows, from int) {
	s.touch("move")
	s.rowStore.Move(dst, to, src, from)
}

func (s touchyStore) Seal(b *rows, n int) error {
	if b.all[0] >= 4 {
		s.touch("seal")
	}
	return s.rowStore.Seal(b, n)
}

func (s touchyStore) Drop(b *rows) {
	s.touch("drop")
	s.rowStore.Drop(b)
}

func (s touchyStore) touch(in string) {
	if s.in == in {
		s.end()
	}
}

// doors are flows of which some function, besides operations, calls end at position 5 or
// after.
func doors(end func()) map[string]func() (pipe.Flow[int], pipe.Hooks) {
	at := func(v int) int {
		if v == 5 {
			end()
		}
		return v
	}
	numbers := func() pipe.Flow[int] { return pipe.From("numbers", pipetest.Numbers{N: 12}) }
	seq := func(yield func(int) bool) {
		for i := range 12 {
			if !yield(at(i)) {
				return
			}
		}
	}
	o := func(name string) pipe.Opts { return pipe.Opts{Name: name, Workers: 2, Ordered: true} }
	flat := func(f pipe.Flow[[]int]) pipe.Flow[int] { return pipe.Unbatch(f, pipe.UnbatchOpts{Name: "flat"}) }
	plain := func(f pipe.Flow[int]) (pipe.Flow[int], pipe.Hooks) { return f, pipe.Hooks{} }
	filled := func(in string, ends func(int) bool) pipe.Flow[int] {
		store := touchyStore{newRowStore(newEvery(1), construct{n: 4}), in, end}
		write := func(_ context.Context, v int, b *rows, row int) error {
			if b.all[row] = v; v == 5 && in == "move" {
				return pipe.Skip
			}
			return nil
		}
		f := pipe.Fill(numbers(), 4, store, write, pipe.FillOpts{Name: "fill", Workers: 2, Ordered: true})
		if ends != nil {
			f = pipe.FillGroups(numbers(), 4, ends, store, write, pipe.FillOpts{Name: "fill", Workers: 2})
		}
		return flat(pipe.Map(f, rowsOf, o("rows")))
	}
	aggregated := func(begin, flush func()) pipe.Flow[int] {
		return flat(pipe.Aggregate(numbers(), func() pipe.Aggregator[int, []int] {
			begin()
			return &weird{pairs{n: 5}, func() error { flush(); return nil }}
		}, pipe.AggregateOpts{Name: "aggregate"}))
	}
	mapped := func() pipe.Flow[int] {
		return pipe.Map(numbers(), func(_ context.Context, v int) (int, error) { return v, nil }, pipe.Opts{Name: "map", Ordered: true})
	}
	nothing := func() {}
	all := map[string]func() (pipe.Flow[int], pipe.Hooks){
		"seq": func() (pipe.Flow[int], pipe.Hooks) { return plain(pipe.From("numbers", pipe.Seq(seq))) },
		"seq in its own goroutine": func() (pipe.Flow[int], pipe.Hooks) {
			return plain(pipe.From("numbers", pipe.Seq(func(yield func(int) bool) {
				next, stop := iter.Pull(seq)
				defer stop()
				for v, ok := next(); ok && yield(v); v, ok = next() {
				}
			})))
		},
		"items": func() (pipe.Flow[int], pipe.Hooks) {
			return plain(pipe.From("numbers", pipe.SourceFunc[int](func(context.Context, int, int64) iter.Seq2[int, error] {
				end()
				return nil
			})))
		},
		"begin": func() (pipe.Flow[int], pipe.Hooks) {
			return plain(pipe.MapWith(numbers(), func(context.Context) (func(context.Context, int) (int, error), func(), error) {
				end()
				return nil, nil, nil
			}, o("map")))
		},
		"end": func() (pipe.Flow[int], pipe.Hooks) {
			return plain(pipe.MapWith(numbers(), func(context.Context) (func(context.Context, int) (int, error), func(), error) {
				return same, end, nil
			}, o("map")))
		},
		"last of a group": func() (pipe.Flow[int], pipe.Hooks) {
			return plain(filled("", func(v int) bool { return at(v)%4 == 3 }))
		},
		"reserve":         func() (pipe.Flow[int], pipe.Hooks) { return plain(filled("reserve", nil)) },
		"move":            func() (pipe.Flow[int], pipe.Hooks) { return plain(filled("move", nil)) },
		"seal":            func() (pipe.Flow[int], pipe.Hooks) { return plain(filled("seal", nil)) },
		"drop":            func() (pipe.Flow[int], pipe.Hooks) { return plain(filled("drop", nil)) },
		"aggregate begin": func() (pipe.Flow[int], pipe.Hooks) { return plain(aggregated(end, nothing)) },
		"aggregate flush": func() (pipe.Flow[int], pipe.Hooks) { return plain(aggregated(nothing, end)) },
		"pick of a merge": func() (pipe.Flow[int], pipe.Hooks) {
			return plain(pipe.Merge([]pipe.Flow[int]{numbers(), pipe.From("others", pipetest.Numbers{N: 12})}, pipe.MergeOpts{Name: "merge", Order: pipe.ByPick, Pick: func(_ int, turn int64) int {
				return at(int(turn)) % 2
			}}))
		},
		"discard": func() (pipe.Flow[int], pipe.Hooks) {
			f := pipe.Discard(numbers(), func(int) { end() })
			return plain(flat(pipe.Batch(f, 5, pipe.BatchOpts{Name: "batch", DropLast: true})))
		},
		"lost": func() (pipe.Flow[int], pipe.Hooks) {
			fails := func(_ context.Context, v int) (int, error) {
				if v == 5 {
					return 0, errBad
				}
				return v, nil
			}
			return pipe.Map(numbers(), fails, pipe.Opts{Name: "map", Ordered: true}), pipe.Hooks{Lost: func(pipe.Loss) { end() }}
		},
		"span": func() (pipe.Flow[int], pipe.Hooks) {
			return mapped(), pipe.Hooks{Span: func(pipe.Span) { end() }}
		},
		"stage": func() (pipe.Flow[int], pipe.Hooks) {
			return mapped(), pipe.Hooks{Stage: func(pipe.StageInfo) func(pipe.StageStats) { end(); return nil }}
		},
		"stage's end": func() (pipe.Flow[int], pipe.Hooks) {
			return mapped(), pipe.Hooks{Stage: func(i pipe.StageInfo) func(pipe.StageStats) {
				if i.Name != "map" {
					return nil
				}
				return func(pipe.StageStats) { end() }
			}}
		},
	}
	for _, stage := range []string{"numbers", "map", "filter", "flatmap", "fill", "aggregate", "route"} {
		for _, when := range []string{"before", "after"} {
			all["task of "+stage+" "+when] = func() (pipe.Flow[int], pipe.Hooks) {
				count := 0
				hook := func(_ context.Context, task pipe.Task) (context.Context, func(pipe.Outcome)) {
					if task.Stage != stage {
						return nil, nil
					}
					count++
					mine := count == 6
					if mine && when == "before" {
						end()
					}
					return nil, func(pipe.Outcome) {
						if mine && when == "after" {
							end()
						}
					}
				}
				f, o := numbers(), pipe.Opts{Name: stage, Ordered: true}
				switch stage {
				case "map":
					f = mapped()
				case "filter":
					f = pipe.Filter(f, func(context.Context, int) (bool, error) { return true, nil }, o)
				case "flatmap":
					f = pipe.FlatMap(f, each(func(v int) []int { return []int{v, -v} }), o)
				case "fill":
					f = flat(pipe.Map(pipe.Fill(f, 2, newRowStore(newEvery(1), construct{n: 2}), func(_ context.Context, v int, b *rows, row int) error {
						b.all[row] = v
						return nil
					}, pipe.FillOpts{Name: stage, Ordered: true}), rowsOf, pipe.Opts{Name: "rows"}))
				case "aggregate":
					f = aggregated(nothing, nothing)
				case "route":
					f = pipe.Route(f, func(context.Context, int) (int, error) { return 0, nil }, branches{pipe.AsIs[int]}, pipe.RouteOpts{Name: stage, Ordered: true})
				}
				return f, pipe.Hooks{Task: hook}
			}
		}
	}
	return all
}

// What ends its goroutine ends the run as what panics does, in all functions that a run
// is given.
func TestGoexitIsLikeAPanic(t *testing.T) {
	for name := range doors(func() {}) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				endings := map[string]ending{}
				for how, end := range map[string]func() error{"panics": panicking, "leaves": leaving} {
					f, hooks := doors(func() { _ = end() })[name]()
					c := pipe.Config{Hooks: hooks}
					if name == "lost" {
						c.Failures = pipe.Policy{Skip: true, Count: -1}
					}
					done := make(chan struct{})
					go func() { // for the consumer's hook
						defer close(done)
						endings[how], _ = endingOf(t, f, c, 1000, func(int) {})
					}()
					select {
					case <-done:
					case <-time.After(time.Hour):
						t.Fatal("it hangs")
					}
				}
				if name == "lost" || name == "span" {
					return // its consumer is gone, or it ends the run at once
				}
				if endings["panics"].String() != endings["leaves"].String() {
					t.Errorf("panics: %v\nleaves: %v", endings["panics"], endings["leaves"])
				}
			})
		})
	}
}

// A consumer whose goroutine its own hook has ended can still be followed by one that
// closes the run, and nothing leaks.
func TestTheLostHookEndsTheConsumer(t *testing.T) {
	for _, within := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var p pipetest.Owner[int]
			numbers := pipetest.Numbers{N: 30, Value: func(_ int, pos int64) int { return p.Made(int(pos)) }}
			f := pipe.Discard(pipe.Map(pipe.Discard(pipe.From("numbers", numbers), p.Gone), func(_ context.Context, v int) (int, error) {
				if v == 2 {
					p.Gone(v)
					return 0, errBad
				}
				return v, nil
			}, pipe.Opts{Name: "map", Ordered: true}), p.Gone)
			if within { // it is reported before an item that is at hand
				f = pipe.Unbatch(pipe.Batch(f, 2, pipe.BatchOpts{Name: "batch"}), pipe.UnbatchOpts{Name: "flat"})
			}
			run := start(t, f, pipe.Config{Failures: pipe.Policy{Skip: true, Count: -1}, Hooks: pipe.Hooks{Lost: func(pipe.Loss) { runtime.Goexit() }}})
			over := make(chan struct{})
			read := 0
			go func() {
				defer close(over)
				for {
					v, err := run.Next(context.Background())
					if err != nil {
						t.Error(err)
						return
					}
					read++
					p.Gone(v)
				}
			}()
			<-over
			if _, err := run.Next(context.Background()); read != 2 || !errors.As(err, new(*pipe.HookError)) {
				t.Error(read, err)
			}
			run.Close()
			if faults := p.Faults(); len(faults) > 0 {
				t.Error(faults)
			}
		})
	}
}
