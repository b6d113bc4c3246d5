package pipe_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// The clocks tell where time goes: a slow stage is busy, the one before it is blocked,
// the one after it is starved, and each worker's clocks add up to its life.
func TestE52ClocksNameTheBottleneck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quick := func(ctx context.Context, v int) (int, error) {
			pipe.AddBytes(ctx, 100)
			return v, pipetest.Sleep(ctx, time.Millisecond)
		}
		f := pipe.From("numbers", pipetest.Numbers{N: 200})
		f = pipe.Map(f, quick, pipe.Opts{Name: "before", Ordered: true})
		f = pipe.Map(f, second, pipe.Opts{Name: "slow", Workers: 2, Ordered: true})
		f = pipe.Map(f, quick, pipe.Opts{Name: "behind", Ordered: true})
		run := start(t, f, pipe.Config{})
		collect(t, run)
		run.Close()
		s := run.Stats()
		shares := func(name string) (starved, busy, blocked float64) {
			for _, st := range s.Stages {
				if st.Name == name {
					life := float64(s.Elapsed) * float64(st.Workers)
					return float64(st.Starved) / life, float64(st.Busy) / life, float64(st.Blocked) / life
				}
			}
			return
		}
		if _, busy, _ := shares("slow"); busy < 0.97 {
			t.Errorf("slow is busy for %.2f of its life", busy)
		}
		if _, _, blocked := shares("before"); blocked < 0.9 {
			t.Errorf("before is blocked for %.2f of its life", blocked)
		}
		if starved, _, _ := shares("behind"); starved < 0.97 {
			t.Errorf("after is starved for %.2f of its life", starved)
		}
		if s.Elapsed < 100*time.Second || s.Waited < s.Elapsed*9/10 || s.Yielded != 200 {
			t.Errorf("%+v", s)
		}
		slow := s.Stages[2]
		if slow.P50 < time.Second || slow.P50 > time.Second*17/16 || slow.P99 != slow.P50 || slow.In != 200 || slow.Out != 200 {
			t.Errorf("%+v", slow)
		}
		if s.Stages[1].Bytes != 20000 {
			t.Errorf("%d bytes", s.Stages[1].Bytes)
		}
		if text := s.String(); !strings.Contains(text, "slow") || !strings.Contains(text, "consumer waited") {
			t.Errorf("%s", text)
		}
	})
}

// Queues are full before a slow stage and empty after it; the one to the consumer is
// counted like the others.
func TestE53Queues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 100}), second, pipe.Opts{Name: "slow", Buffer: 3})
		run := start(t, f, pipe.Config{})
		collect(t, run)
		run.Close()
		q := run.Stats().Queues
		before, behind := q[0], q[1]
		if before.From != "numbers" || before.To != "slow" || behind.To != "" || before.Cap != pipe.SourceBuffer || behind.Cap != 3 {
			t.Errorf("%+v", q)
		}
		if before.Full < before.Observed*8/10 || before.Mean < 14 || before.Empty > before.Observed/10 {
			t.Errorf("before the slow stage: %+v", before)
		}
		if behind.Empty < behind.Observed*9/10 || behind.Mean > 0.1 || behind.Puts != 101 || behind.Gets != 101 {
			t.Errorf("after the slow stage: %+v", behind)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 100}), restless, pipe.Opts{Name: "map", Workers: 2, Buffer: 3})
		run := start(t, f, pipe.Config{})
		for range run.All() {
			<-time.After(time.Second)
		}
		run.Close()
		if q := run.Stats().Queues[1]; q.Full < q.Observed*8/10 || q.Mean < 2.5 {
			t.Errorf("before a slow consumer: %+v", q)
		}
	})
}

// Where operations are fast only some are timed, and the numbers say so; nothing is
// missing in the sums.
func TestFastStagesAreSampled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 20000}), same, pipe.Opts{Name: "map", Buffer: 64})
		run := start(t, f, pipe.Config{})
		collect(t, run)
		run.Close()
		s := run.Stats().Stages[1]
		timed := int64(0)
		for _, b := range s.Times {
			timed += b.Count
		}
		if !s.Sampled || timed == 0 || timed >= s.In || s.In != 20000 || s.Out != 20000 {
			t.Errorf("%d of %d were timed, sampled: %v", timed, s.In, s.Sampled)
		}
	})
}

// Percentiles are of the time that operations run, without waiting for a permit, an item,
// or room.
func TestE52Percentiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		op := func(ctx context.Context, v int) (int, error) {
			d := 10 * time.Millisecond
			switch {
			case v%100 >= 98:
				d = time.Second
			case v%100 >= 85:
				d = 100 * time.Millisecond
			}
			return v, pipetest.Sleep(ctx, d)
		}
		f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 400, Every: time.Millisecond}), op, pipe.Opts{Name: "map", Workers: 4, Gate: pipe.NewGate(1)})
		run := start(t, pipe.Map(f, takes(20*time.Millisecond), pipe.Opts{Name: "slow"}), pipe.Config{Failures: pipe.Policy{Skip: true, Count: -1}})
		collect(t, run)
		run.Close()
		s := run.Stats().Stages[1]
		near := func(got, want time.Duration) bool { return got >= want && got <= want*17/16 }
		if !near(s.P50, 10*time.Millisecond) || !near(s.P90, 100*time.Millisecond) || !near(s.P99, time.Second) || s.Sampled {
			t.Errorf("%+v", s)
		}
		if want := (85*10 + 13*100 + 2*1000) * time.Millisecond / 100; s.Mean != want {
			t.Errorf("the mean is %v, not %v", s.Mean, want)
		}
		if life := s.Starved + s.Busy + s.Blocked + s.Gated; s.Gated < s.Busy || life > 4*run.Stats().Elapsed {
			t.Errorf("%+v", s)
		}
	})
}

// Who puts waits for room, who gets waits for messages, and the queue says how long.
func TestE53QueuesCountWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 100}), takes(time.Second), pipe.Opts{Name: "one", Ordered: true, Buffer: 1})
		f = pipe.Map(f, takes(3*time.Second), pipe.Opts{Name: "three", Ordered: true, Buffer: 1})
		run := start(t, f, pipe.Config{})
		collect(t, run)
		run.Close()
		s := run.Stats()
		source, one, three := s.Queues[0], s.Queues[1], s.Queues[2]
		if one.PutWait < 180*time.Second || one.PutWait > 200*time.Second || one.GetWait > 2*time.Second {
			t.Errorf("after the fast stage: %+v", one)
		}
		if three.PutWait > time.Second || three.GetWait < 299*time.Second || three.GetWait != s.Start+s.Waited {
			t.Errorf("after the slow stage: %+v, the consumer waited %v", three, s.Waited)
		}
		if source.PutWait < 200*time.Second || source.GetWait != 0 {
			t.Errorf("after the source: %+v", source)
		}
		if rate := three.Rate(); rate < 0.33 || rate > 0.34 || (pipe.QueueStats{}).Rate() != 0 {
			t.Errorf("%v", rate)
		}
		text := s.String()
		for _, want := range []string{"one → three", "three → consumer", "put wait", "p90", "mean"} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is missing in\n%s", want, text)
			}
		}
	})
}
