package pipe_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// Epochs never mix, in either order: each yields exactly its items, and its last batch is
// its own.
func TestE47EpochsNeverMix(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		for _, dropLast := range []bool{false, true} {
			for _, items := range []int{0, 1, 3, 8, 10} {
				for _, rest := range []time.Duration{0, time.Second} {
					t.Run(fmt.Sprintf("ordered %v drop %v items %d rest %v", ordered, dropLast, items, rest), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) { fourEpochs(t, ordered, dropLast, items, rest) })
					})
				}
			}
		}
	}
}

// fourEpochs reads with a rest before each item: then several epochs wait in the stages.
func fourEpochs(t *testing.T, ordered, dropLast bool, items int, rest time.Duration) {
	source := pipetest.Numbers{N: items, Value: func(epoch int, pos int64) int { return 1000*epoch + int(pos) }}
	f := pipe.Map(pipe.From("numbers", source), restless, pipe.Opts{Name: "map", Workers: 4, Buffer: 8, Ordered: ordered})
	fill := pipe.Fill(f, 4, plainStore{4}, writeUnless(), pipe.FillOpts{Name: "fill", Workers: 5, Ordered: ordered, DropLast: dropLast})
	run := start(t, fill, pipe.Config{Epoch: 2, Epochs: 4})
	defer run.Close()
	<-time.After(rest)
	for epoch := 2; epoch < 6; epoch++ {
		var batches [][]int
		for b, err := range run.All() {
			if err != nil {
				t.Fatal(err)
			}
			batches = append(batches, b)
			<-time.After(rest)
		}
		if want := items / 4; dropLast && len(batches) != want {
			t.Errorf("epoch %d has %d batches", epoch, len(batches))
		}
		all := slices.Concat(batches...)
		all = all[:min(len(all), items)] // the store's last batch keeps its length
		slices.Sort(all)
		if !dropLast && len(all) != items || slices.ContainsFunc(all, func(v int) bool { return v/1000 != epoch }) {
			t.Errorf("epoch %d: %v", epoch, all)
		}
		if at := run.State().Sources["numbers"]; at.Epoch != epoch+1 || at.Low != 0 || len(at.Ahead)+len(at.Lost) > 0 {
			t.Errorf("after epoch %d the state is %+v", epoch, at)
		}
	}
	if _, err := run.Next(context.Background()); err != pipe.ErrDone {
		t.Errorf("after the last epoch: %v", err)
	}
	for v, err := range run.All() {
		if err != pipe.ErrDone {
			t.Errorf("after the last epoch: %v, %v", v, err)
		}
	}
}

// The next epoch is worked on while the consumer rests between epochs, and no stage
// stands still at the boundary.
func TestE48NextEpochIsPrefetched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var second atomic.Int64
		source := pipetest.Numbers{N: 4, Pulled: func(epoch int, _ int64) {
			if epoch == 1 {
				second.Add(1)
			}
		}}
		slow := func(ctx context.Context, v int) (int, error) { return v, pipetest.Sleep(ctx, time.Second) }
		run := start(t, pipe.Map(pipe.From("numbers", source), slow, pipe.Opts{Name: "map", Workers: 4}), pipe.Config{Epochs: -1})
		defer run.Close()
		collect(t, run)
		<-time.After(time.Hour)
		if second.Load() != 4 {
			t.Errorf("%d items of the second epoch were pulled", second.Load())
		}
		began := time.Now()
		if _, err := run.Next(context.Background()); err != nil || time.Since(began) > 0 {
			t.Errorf("the second epoch begins after %v: %v", time.Since(began), err)
		}
	})
}

// E51, E19: empty epochs end, one after the other, and a source of nothing that runs for
// ever does no harm.
func TestE51OneItemEpochs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := pipe.Batch(pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 1}), restless, pipe.Opts{Name: "map", Workers: 3}), 3, pipe.BatchOpts{Name: "batch"})
		run := start(t, f, pipe.Config{Epochs: -1})
		defer run.Close()
		for epoch := range 100 {
			if got := collect(t, run); fmt.Sprint(got) != "[[0]]" {
				t.Fatalf("epoch %d: %v", epoch, got)
			}
		}
		<-time.After(time.Hour)
	})
}

func TestE51EmptyEpochs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := pipe.Batch(pipe.From("numbers", pipetest.Numbers{}), 3, pipe.BatchOpts{Name: "batch"})
		run := start(t, f, pipe.Config{Epochs: -1})
		defer run.Close()
		for epoch := range 100 {
			if _, err := run.Next(context.Background()); err != io.EOF {
				t.Fatalf("epoch %d: %v", epoch, err)
			}
		}
		<-time.After(time.Hour) // it stands still: a bubble does not get here while anyone spins
	})
}

// One description can be run any number of times, also at once, and the runs know nothing
// of each other. E8.
func TestE8RunsAreIndependent(t *testing.T) {
	f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 20}), failing(3), pipe.Opts{Name: "map", Workers: 2})
	c := pipe.Config{Failures: pipe.Policy{Skip: true, Count: 1}}
	one, two := start(t, f, c), start(t, f, c)
	defer one.Close()
	defer two.Close()
	if len(collect(t, one)) != 19 || len(collect(t, two)) != 19 {
		t.Error("a run saw what another did")
	}
	if one.Stats().Stages[1].Lost != 1 || two.Stats().Stages[1].Lost != 1 {
		t.Error("counters are shared")
	}
}

func TestStateAtTheBeginning(t *testing.T) {
	run := start(t, pipe.From("numbers", pipetest.Numbers{N: 20}), pipe.Config{Epoch: 3})
	defer run.Close()
	if at := run.State().Sources["numbers"]; at.Epoch != 3 || at.Low != 0 {
		t.Errorf("%+v", at)
	}
}

// Positions that a state calls finished are not tried again: also those that were lost,
// and those that somebody else has put there.
func TestResumeDoesNotTryAgain(t *testing.T) {
	var tried []int
	note := func(_ context.Context, v int) (int, error) {
		tried = append(tried, v)
		return v, nil
	}
	f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 12, Fail: func(_ int, pos int64) error {
		if pos == 9 {
			return errBad
		}
		return nil
	}}), note, pipe.Opts{Name: "map", Ordered: true})
	run := start(t, f, pipe.Config{Resume: pipe.State{Version: pipe.StateVersion, Sources: map[string]pipe.SourceState{
		"numbers": {Epoch: 4, Low: 3, Ahead: [][2]int64{{5, 7}}, Lost: []int64{1, 9, 10}},
	}}})
	defer run.Close()
	if got := collect(t, run); !slices.Equal(got, []int{3, 4, 7, 8, 11}) || !slices.Equal(tried, got) {
		t.Errorf("%v of %v tried", got, tried)
	}
}

func TestStartRefuses(t *testing.T) {
	numbers := pipe.From("numbers", pipetest.Numbers{N: 3})
	mapped := func(o pipe.Opts) pipe.Flow[int] { return pipe.Map(numbers, restless, o) }
	saved := func(name string, s pipe.SourceState) pipe.Config {
		return pipe.Config{Resume: pipe.State{Version: 1, Sources: map[string]pipe.SourceState{name: s}}}
	}
	for want, c := range map[string]struct {
		flow   pipe.Flow[int]
		config pipe.Config
	}{
		"a flow begins with From":                 {},
		"stage (source): it has no name":          {flow: pipe.From("", pipetest.Numbers{})},
		"the source is nil":                       {flow: pipe.From[int]("numbers", nil)},
		"stage (map): it has no name":             {flow: mapped(pipe.Opts{})},
		"stage map: Workers is -1":                {flow: mapped(pipe.Opts{Name: "map", Workers: -1})},
		"stage map: Buffer is -2":                 {flow: mapped(pipe.Opts{Name: "map", Buffer: -2})},
		"stage map: its function is nil":          {flow: pipe.Map[int, int](numbers, nil, pipe.Opts{Name: "map"})},
		"another stage has the same name":         {flow: mapped(pipe.Opts{Name: "numbers"})},
		"Failures: a Rate of 1.5":                 {flow: mapped(pipe.Opts{Name: "map", Failures: &pipe.Policy{Skip: true, Rate: 1.5}})},
		"Config.Failures: a Rate of -1":           {flow: numbers, config: pipe.Config{Failures: pipe.Policy{Skip: true, Rate: -1}}},
		"it tolerates nothing":                    {flow: numbers, config: pipe.Config{Failures: pipe.Policy{Skip: true}}},
		"without Skip":                            {flow: numbers, config: pipe.Config{Failures: pipe.Policy{Count: 3}}},
		"an After of -1":                          {flow: numbers, config: pipe.Config{Failures: pipe.Policy{Skip: true, Count: 1, After: -1}}},
		"Config.Epoch is -1":                      {flow: numbers, config: pipe.Config{Epoch: -1}},
		"has version 9":                           {flow: numbers, config: pipe.Config{Resume: pipe.State{Version: 9, Sources: map[string]pipe.SourceState{"numbers": {}}}}},
		"lacks the source numbers":                {flow: numbers, config: saved("other", pipe.SourceState{})},
		"a source other, which the flow lacks":    {flow: numbers, config: saved("other", pipe.SourceState{})},
		"source numbers: position -1":             {flow: numbers, config: saved("numbers", pipe.SourceState{Low: -1})},
		"the open position 4, which lost nothing": {flow: numbers, config: saved("numbers", pipe.SourceState{Lost: []int64{3}, Open: []int64{4}})},
		"the range [3, 3)":                        {flow: numbers, config: saved("numbers", pipe.SourceState{Ahead: [][2]int64{{3, 3}}})},
	} {
		run, err := pipe.Start(context.Background(), c.flow, c.config)
		if err == nil {
			run.Close()
		}
		if err == nil || !contains(err, want) {
			t.Errorf("wanted %q, got %v", want, err)
		}
	}
}

// E2: all mistakes come at once.
func TestE2MistakesAreJoined(t *testing.T) {
	f := pipe.Map(pipe.From[int]("", nil), restless, pipe.Opts{Workers: -1})
	b := pipe.Batch(f, 0, pipe.BatchOpts{Buffer: -1})
	fill := pipe.Fill[[]int, []int](b, -1, nil, nil, pipe.FillOpts{Name: "fill"})
	err := fill.Check()
	for _, want := range []string{"(source): it has no name", "source is nil", "(map): it has no name", "Workers is -1", "batches of 0", "Buffer is -1", "batches of -1", "store is nil", "function is nil"} {
		if !contains(err, want) {
			t.Errorf("%q is missing in %v", want, err)
		}
	}
	if _, again := pipe.Start(context.Background(), fill, pipe.Config{}); again.Error() != err.Error() {
		t.Errorf("Start says %v", again)
	}
	var empty pipe.Flow[int]
	if err := pipe.Map(empty, restless, pipe.Opts{Name: "map"}).Check(); !contains(err, "begins with From") {
		t.Errorf("%v", err)
	}
}

func contains(err error, text string) bool {
	return err != nil && strings.Contains(err.Error(), text)
}
