package pipe_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime/trace"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// A diary keeps the reports of stalls.
type diary struct {
	mu  sync.Mutex
	all []pipe.StallReport
}

func (d *diary) add(r pipe.StallReport) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, r)
}

func (d *diary) reports() []pipe.StallReport {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.all)
}

func (d *diary) config() pipe.Config {
	return pipe.Config{Epoch: 3, Stall: pipe.Stall{After: time.Minute, Report: d.add}}
}

// hangsOn is an operation that does not return for some numbers until it is let go.
func hangsOn(free chan struct{}, on ...int) func(context.Context, int) (int, error) {
	return func(ctx context.Context, v int) (int, error) {
		if slices.Contains(on, v) {
			<-free
			return v, nil
		}
		return second(ctx, v)
	}
}

// A run that waits for an operation is reported once: the stage, the item, for how long,
// who waits for whom, and where the goroutines are. When it goes on, and stands still
// again, that is another stall.
func TestStallNamesTheOperation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		free := make(chan struct{})
		f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 100}), same, pipe.Opts{Name: "before", Ordered: true})
		f = pipe.Map(f, hangsOn(free, 20, 40), pipe.Opts{Name: "decode", Workers: 3, Ordered: true})
		b := pipe.Batch(f, 4, pipe.BatchOpts{Name: "batch"})
		run := start(t, b, d.config())
		go func() {
			for range 2 {
				<-time.After(time.Hour)
				free <- struct{}{}
			}
		}()
		if got := slices.Concat(collect(t, run)...); !slices.Equal(got, upTo(100)) {
			t.Errorf("%v", got)
		}
		run.Close()
		all := d.reports()
		if len(all) != 2 {
			t.Fatalf("%d reports", len(all))
		}
		for i, r := range all {
			if r.For < time.Minute || r.For > time.Minute*9/8 || !r.Waiting || len(r.Stages) != 4 || r.Err != nil || r.Recording != "" {
				t.Errorf("%+v", r)
			}
			source, before, decode, batch := r.Stages[0], r.Stages[1], r.Stages[2], r.Stages[3]
			if source.Blocked != 1 || before.Blocked != 1 || batch.Starved != 1 || decode.Blocked != 2 || len(decode.Operations) != 1 || decode.Workers != 3 {
				t.Errorf("%+v", r.Stages)
			}
			if o := decode.Operations[0]; o.Source != "numbers" || o.Pos != int64(20+20*i) || o.Epoch != 3 || o.For < time.Minute || o.For > 2*time.Minute {
				t.Errorf("%+v", o)
			}
			if q := r.Queues[2]; q.From != "decode" || q.To != "batch" || q.Len != 0 {
				t.Errorf("%+v", q)
			}
			if !strings.Contains(r.Stacks, "hangsOn") || !strings.Contains(r.Stacks, `"stage":"decode"`) || strings.Contains(r.Stacks, "TestMain") {
				t.Errorf("%s", r.Stacks)
			}
		}
		text := all[0].String()
		for _, part := range []string{"nothing has moved for 1m", "and the consumer waits", "item 20 of numbers in epoch 3 for 1m", "2 waiting for the next stage", "batch: 1 waiting for the stage before"} {
			if !strings.Contains(text, part) {
				t.Errorf("%q is not in\n%s", part, text)
			}
		}
	})
}

// A consumer that does not ask is no stall, however long; nor is one that has read
// everything.
func TestSlowConsumersAreNoStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 30}), second, pipe.Opts{Name: "decode", Workers: 3})
		b := pipe.Fill(f, 4, plainStore{4}, writeUnless(-1), pipe.FillOpts{Name: "fill", Workers: 2})
		run := start(t, b, d.config())
		defer run.Close()
		for range run.All() {
			<-time.After(time.Hour)
		}
		<-time.After(time.Hour)
		if all := d.reports(); len(all) > 0 {
			t.Errorf("%v", all)
		}
	})
}

// Operations that take long are a stall, unless they say that they move, or others do.
func TestWhatMoves(t *testing.T) {
	long := func(told bool) func(context.Context, int) (int, error) {
		return func(ctx context.Context, v int) (int, error) {
			for range 10 {
				if told {
					pipe.AddBytes(ctx, 1)
				}
				<-time.After(30 * time.Second)
			}
			return v, nil
		}
	}
	for name, c := range map[string]struct {
		op      func(context.Context, int) (int, error)
		reports int
	}{"silent": {long(false), 5}, "with bytes": {long(true), 0}, "quick": {second, 0}} {
		synctest.Test(t, func(t *testing.T) {
			var d diary
			run := start(t, pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 5}), c.op, pipe.Opts{Name: "long"}), d.config())
			defer run.Close()
			collect(t, run)
			if all := d.reports(); len(all) != c.reports {
				t.Errorf("%s: %d reports: %v", name, len(all), all)
			}
		})
	}
}

// Without a consumer that waits there is a stall where an operation does not return, and
// what is ready is less than the queue holds.
func TestStallWhileNobodyAsks(t *testing.T) {
	for _, on := range []int{1, 9} {
		synctest.Test(t, func(t *testing.T) {
			var d diary
			free := make(chan struct{})
			f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 10}), hangsOn(free, on), pipe.Opts{Name: "decode", Workers: 2, Buffer: 4, Ordered: true})
			run := start(t, f, d.config())
			<-time.After(time.Hour)
			if all := d.reports(); on == 1 && (len(all) != 1 || all[0].Waiting) || on == 9 && len(all) > 0 {
				t.Errorf("%d: %v", on, all)
			}
			close(free)
			collect(t, run)
			run.Close()
		})
	}
}

// What else may stand still: a source, the beginning of a worker, a store, a gate that
// others hold.
func TestStallsOfAllKinds(t *testing.T) {
	for name, c := range map[string]struct {
		flow func(free chan struct{}) pipe.Flow[int]
		want string
	}{
		"source": {func(free chan struct{}) pipe.Flow[int] {
			return pipe.From("numbers", pipetest.Numbers{N: 10, Pulled: func(_ int, pos int64) {
				if pos == 7 {
					<-free
				}
			}})
		}, "numbers: item 7 of numbers in epoch 3 for 1m"},
		"begin": {func(free chan struct{}) pipe.Flow[int] {
			begin := func(context.Context) (func(context.Context, int) (int, error), func(), error) {
				<-free
				return same, nil, nil
			}
			return pipe.MapWith(pipe.From("numbers", pipetest.Numbers{N: 10}), begin, pipe.Opts{Name: "work"})
		}, "work: an operation for 1m"},
		"store": {func(free chan struct{}) pipe.Flow[int] {
			f := pipe.Fill(pipe.From("numbers", pipetest.Numbers{N: 10}), 1, closedStore{plainStore{1}, free}, writeUnless(-1), pipe.FillOpts{Name: "work", Workers: 2})
			return pipe.Map(f, func(_ context.Context, row []int) (int, error) { return row[0], nil }, pipe.Opts{Name: "row"})
		}, "work: 2 waiting for the next stage"},
		"gate": {func(free chan struct{}) pipe.Flow[int] {
			gate := pipe.NewGate(1)
			f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 10}), hangsOn(free, 0), pipe.Opts{Name: "holds", Gate: gate})
			return pipe.Map(f, second, pipe.Opts{Name: "work", Gate: gate})
		}, "holds: item 0 of numbers in epoch 3 for 1m"},
		"gated": {func(free chan struct{}) pipe.Flow[int] {
			gate := pipe.NewGate(1)
			return pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 10}), hangsOn(free, 0, 1), pipe.Opts{Name: "work", Gate: gate, Workers: 2})
		}, ", 1 waiting for a gate"},
		"sequence": {func(free chan struct{}) pipe.Flow[int] {
			return changeableKinds[3].stage(pipe.From("numbers", pipetest.Numbers{N: 10}), hangsOn(free, 4), pipe.Opts{Name: "work"})
		}, "work: item 4 of numbers in epoch 3 for 1m"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var d diary
			free := make(chan struct{})
			run := start(t, c.flow(free), d.config())
			time.AfterFunc(2*time.Hour, func() { close(free) })
			collect(t, run)
			run.Close()
			if all := d.reports(); len(all) != 1 || !strings.Contains(all[0].String(), c.want) {
				t.Errorf("%s: %v", name, all)
			}
		})
	}
}

// closedStore has nothing to give for a time.
type closedStore struct {
	plainStore
	open chan struct{}
}

func (s closedStore) Reserve(ctx context.Context) ([]int, error) {
	select {
	case <-s.open:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return s.plainStore.Reserve(ctx)
}

// A report may use the run. Its panic is reported by Close, and a report that does not
// return is not waited for longer than CloseWithin may wait.
func TestReportsOfStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free, told := make(chan struct{}), make(chan struct{})
		var run *pipe.Run[int]
		report := func(pipe.StallReport) {
			if run.Stats().Yielded != 3 || run.State().Sources["numbers"].Low != 3 || run.SetWorkers("work", 2) != nil {
				t.Errorf("%+v", run.Stats())
			}
			close(told)
			panic(errBad)
		}
		f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 10}), hangsOn(free, 3), pipe.Opts{Name: "work", Ordered: true})
		run = start(t, f, pipe.Config{Stall: pipe.Stall{After: 10 * time.Second, Report: report}})
		go func() { <-told; close(free) }()
		collect(t, run)
		if err := run.Close(); !errors.Is(err, errBad) || !contains(err, "Stall.Report") {
			t.Error(err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 10}), hangsOn(free, 0), pipe.Opts{Name: "work"})
		run := start(t, f, pipe.Config{Stall: pipe.Stall{After: time.Second, Report: func(pipe.StallReport) { <-free }}})
		<-time.After(time.Minute)
		ctx, stop := context.WithTimeout(context.Background(), time.Second)
		defer stop()
		began := time.Now()
		if err := run.CloseWithin(ctx); err == nil || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		close(free)
		if err := run.Close(); err != nil {
			t.Error(err)
		}
	})
}

// With a folder the report has a recording of the runtime, which knows the run and its
// stages. Runs share the recorder.
func TestStallRecording(t *testing.T) {
	folder := t.TempDir()
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			free, told := make(chan struct{}), make(chan pipe.StallReport, 1)
			f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 10}), hangsOn(free, 0), pipe.Opts{Name: "flightworthy"})
			run, err := pipe.Start(context.Background(), f, pipe.Config{Stall: pipe.Stall{After: 50 * time.Millisecond, Report: func(r pipe.StallReport) { told <- r }, Folder: folder}})
			if err != nil {
				t.Error(err)
				return
			}
			r := <-told
			close(free)
			run.Close()
			made, err := os.ReadFile(r.Recording)
			if r.Err != nil || err != nil || filepath.Dir(r.Recording) != filepath.Clean(folder) || !bytes.HasPrefix(made, []byte("go 1.")) || !bytes.Contains(made, []byte("flightworthy")) {
				t.Errorf("%q: %v, %v, %d bytes", r.Recording, r.Err, err, len(made))
			}
		})
	}
	all.Wait()
}

// What cannot be.
func TestStallIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	report := func(pipe.StallReport) {}
	for want, s := range map[string]pipe.Stall{
		"Stall.After is -1s":                       {After: -time.Second, Report: report},
		"Stall.Report is nil":                      {After: time.Second},
		"not a directory":                          {After: time.Second, Report: report, Folder: file + "/none"},
		"is not a folder":                          {After: time.Second, Report: report, Folder: file},
		"Stall.Folder is \"/tmp\", and After is 0": {Folder: "/tmp"},
	} {
		run, err := pipe.Start(context.Background(), pipe.From("numbers", pipetest.Numbers{}), pipe.Config{Stall: s})
		if !contains(err, want) {
			t.Errorf("%+v: %v, not %q", s, err, want)
		}
		if run != nil {
			run.Close()
		}
	}
}

// While the Go runtime is traced, a run is a task, and each operation a region with the
// stage's name.
func TestRuntimeTrace(t *testing.T) {
	var made bytes.Buffer
	if err := trace.Start(&made); err != nil {
		t.Fatal(err)
	}
	for _, kind := range changeableKinds {
		run := start(t, kind.stage(pipe.From("the numbers", pipetest.Numbers{N: 10}), same, pipe.Opts{Name: "the " + kind.kind, Workers: 2}), pipe.Config{})
		collect(t, run)
		run.Close()
	}
	trace.Stop()
	for _, want := range []string{"pipe.Run", "the numbers", "the map", "the with", "the filter", "the flatmap", "the fill"} {
		if !bytes.Contains(made.Bytes(), []byte(want)) {
			t.Errorf("%q is not in the trace", want)
		}
	}
}
