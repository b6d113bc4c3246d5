package pipe_test

import (
	"errors"
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// inEpoch are the numbers of hundreds without that of their epoch.
func inEpoch(all []int) []int {
	for i := range all {
		all[i] %= 1000
	}
	return all
}

// A merge may have an order of its own: here twice one, once two. The turns of an input
// whose epoch is over are void.
func TestE24CustomOrder(t *testing.T) {
	twoOne := func(_ int, turn int64) int { return int(turn%3) / 2 }
	run := start(t, pipe.Merge([]pipe.Flow[int]{hundreds(0, 5), hundreds(1, 5)}, pipe.MergeOpts{Name: "merge", Order: pipe.ByPick, Pick: twoOne}), pipe.Config{Epochs: 2})
	defer run.Close()
	for range 2 {
		if got := inEpoch(collect(t, run)); !slices.Equal(got, []int{0, 1, 100, 2, 3, 101, 4, 102, 103, 104}) {
			t.Errorf("%v", got)
		}
	}
}

// It may end the epoch early: what the inputs still have is disposed of, their sources go
// on with the next one, and all of it resumes.
func TestE24CustomOrderEndsEarly(t *testing.T) {
	pick := func(epoch int, turn int64) int {
		if turn == int64(4+epoch) {
			return -1
		}
		return int(turn % 2)
	}
	synctest.Test(t, func(t *testing.T) {
		var pulled, stopped atomic.Int64
		endless := pipe.From("endless", pipetest.Numbers{N: -1, Pulled: func(int, int64) { pulled.Add(1) }, Stopped: func(int, int64) { stopped.Add(1) }})
		f := pipe.Merge([]pipe.Flow[int]{endless, slowed(hundreds(1, 9), "slow")}, pipe.MergeOpts{Name: "merge", Order: pipe.ByPick, Pick: pick})
		run := start(t, f, pipe.Config{Epochs: 3})
		for epoch, want := range [][]int{{0, 100, 1, 101}, {0, 100, 1, 101, 2}, {0, 100, 1, 101, 2, 102}} {
			if got := inEpoch(collect(t, run)); !slices.Equal(got, want) {
				t.Errorf("epoch %d: %v", epoch, got)
			}
		}
		if _, err := drain(run); !errors.Is(err, pipe.ErrDone) {
			t.Error(err)
		}
		<-time.After(time.Hour)
		if stopped.Load() != 3 || pulled.Load() > 3*40 {
			t.Errorf("%d items were pulled, %d epochs are over", pulled.Load(), stopped.Load())
		}
		run.Close()
		both := []pipe.Flow[int]{hundreds(0, 9), slowed(hundreds(1, 9), "slow")}
		m := pipe.Merge(both, pipe.MergeOpts{Name: "merge", Order: pipe.ByPick, Pick: pick})
		pipetest.Resume(t, pipe.Batch(m, 3, pipe.BatchOpts{Name: "batch"}), pipe.Config{Epochs: 3}, true, printAll)
	})
}

// A pick that is wrong stops the run, and names the merge; one that asks those who have
// nothing more does not hang.
func TestE24CustomOrderThatIsWrong(t *testing.T) {
	for want, c := range map[string]struct {
		pick func(int, int64) int
		got  int
	}{
		"stage merge: epoch 0: input 2 of 2 was picked": {func(_ int, turn int64) int { return int(turn % 3) }, 2},
		"input -2 of 2 was picked":                      {func(int, int64) int { return -2 }, 0},
		"turns are of inputs whose epoch is over":       {func(int, int64) int { return 1 }, 4},
		"panic: bad": {func(int, int64) int { panic(errBad) }, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			run := start(t, pipe.Merge([]pipe.Flow[int]{hundreds(0, 4), hundreds(1, 4)}, pipe.MergeOpts{Name: "merge", Order: pipe.ByPick, Pick: c.pick}), pipe.Config{})
			defer run.Close()
			got, err := drain(run)
			if err == io.EOF || !contains(err, want) || len(got) != c.got {
				t.Errorf("wanted %q, got %v, %v", want, got, err)
			}
		})
	}
	one := []pipe.Flow[int]{hundreds(0, 1)}
	for _, o := range []pipe.MergeOpts{{Name: "merge", Order: pipe.ByPick}, {Name: "merge", Pick: func(int, int64) int { return 0 }}} {
		if err := pipe.Merge(one, o).Check(); !contains(err, "Pick is for ByPick") {
			t.Error(err)
		}
	}
}
