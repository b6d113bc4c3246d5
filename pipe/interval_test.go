package pipe_test

import (
	"context"
	"io"
	"math"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// The intervals of a run add up to its totals, the last one included, which is cut off by
// Close. In SPDL the last one is never reported.
func TestE54IntervalsSumToTheTotals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 100}), failing(7, 50, 93), pipe.Opts{Name: "map", Workers: 3})
		f = pipe.FlatMap(f, twice, pipe.Opts{Name: "twice"})
		run := start(t, f, pipe.Config{Failures: pipe.Policy{Skip: true, Count: -1}})
		var intervals []pipe.Stats
		last := pipe.Stats{}
		lap := func() {
			now := run.Stats()
			intervals = append(intervals, now.Minus(last))
			last = now
		}
		for i := 0; ; i++ {
			if _, err := run.Next(context.Background()); err == io.EOF {
				break
			}
			if i%23 == 0 {
				<-time.After(time.Millisecond)
				lap()
			}
		}
		run.Close()
		lap()
		sum := intervals[0]
		for _, d := range intervals[1:] {
			sum = sum.Plus(d)
		}
		total := run.Stats()
		for i := range total.Queues {
			if math.Abs(sum.Queues[i].Mean-total.Queues[i].Mean) > 1e-9 {
				t.Errorf("queue %d: %v, not %v", i, sum.Queues[i].Mean, total.Queues[i].Mean)
			}
			sum.Queues[i].Mean = total.Queues[i].Mean // which is rounded
		}
		if !reflect.DeepEqual(sum, total) {
			t.Errorf("the intervals add up to\n%v\nnot to\n%v", sum, total)
		}
		if len(intervals) < 5 || intervals[2].Yielded != 23 {
			t.Errorf("%d intervals, %+v", len(intervals), intervals[2])
		}
	})
}

// The mean is of the time that items take, and has no waiting in it.
func TestE52Mean(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 10, Every: time.Minute}), second, pipe.Opts{Name: "map", Workers: 2})
		run := start(t, f, pipe.Config{})
		collect(t, run)
		run.Close()
		if m := run.Stats().Stages[1].Mean; m != time.Second {
			t.Error(m)
		}
	})
}
