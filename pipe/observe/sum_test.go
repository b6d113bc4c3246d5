package observe

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// drawStats draws what a run of some stages could say. Every number is drawn, so that a
// field that a sum leaves out shows.
func drawStats(t *rapid.T, stages ...string) (s Stats) {
	draw := func(v reflect.Value) {
		for i := range v.NumField() {
			if f := v.Field(i); f.CanInt() {
				f.SetInt(rapid.Int64Range(0, 1000).Draw(t, v.Type().Field(i).Name))
			}
		}
	}
	draw(reflect.ValueOf(&s).Elem())
	for i, name := range stages {
		u := StageStats{Name: name, Kind: "map"}
		draw(reflect.ValueOf(&u).Elem())
		for _, d := range []time.Duration{1, 5, 20, 300} {
			if n := rapid.Int64Range(0, 3).Draw(t, "count"); n > 0 {
				u.Times = append(u.Times, Bucket{d, n})
			}
		}
		s.Stages = append(s.Stages, u.WithTimes(u.Times))
		q := QueueStats{From: name, To: append(stages, "")[i+1], Mean: rapid.Float64Range(0, 9).Draw(t, "mean")}
		draw(reflect.ValueOf(&q).Elem())
		s.Queues = append(s.Queues, q)
	}
	return s
}

// near is reflect.DeepEqual, but for the rounding of means over time.
func near(a, b Stats) bool {
	a.Queues, b.Queues = slices.Clone(a.Queues), slices.Clone(b.Queues)
	for i := range a.Queues {
		if i < len(b.Queues) && math.Abs(a.Queues[i].Mean-b.Queues[i].Mean) < 1e-9 {
			a.Queues[i].Mean = b.Queues[i].Mean
		}
	}
	return reflect.DeepEqual(a, b)
}

// What comes between two snapshots and the first of them add up to the second, in every
// field: also in those that somebody adds to the structs.
func TestIntervalsAddUp(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		first, since := drawStats(rt, "read", "decode"), drawStats(rt, "read", "decode")
		for i := range first.Queues { // of time that was not observed nobody knows a mean
			first.Queues[i].Observed++
			since.Queues[i].Observed++
		}
		second := first.Plus(since)
		sumsOf(rt, first, since, second)
		sumsOf(rt, first.Stages[1], since.Stages[1], second.Stages[1], "Workers", "InFlightPerWorker", "Awaited", "Mean", "P50", "P90", "P99")
		sumsOf(rt, first.Queues[0], since.Queues[0], second.Queues[0], "Cap", "Len")
		if got := second.Minus(first); !near(got, since) && !onlyStatesDiffer(got, since) {
			rt.Fatalf("%+v\nand then %+v\nless the first is\n%+v", first, since, got)
		}
		if got := first.Plus(second.Minus(first)); !near(got, second) {
			rt.Fatalf("%+v\nbecomes %+v", second, got)
		}
		if got := (Stats{}).Plus(first); !near(got, first) {
			rt.Fatalf("nothing and %+v\nis %+v", first, got)
		}
	})
}

// sumsOf wants each number of sum to be that of a and that of b, but for some.
func sumsOf[T any](t *rapid.T, a, b, sum T, but ...string) {
	v, w, x := reflect.ValueOf(a), reflect.ValueOf(b), reflect.ValueOf(sum)
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; v.Field(i).CanInt() && !slices.Contains(but, name) &&
			x.Field(i).Int() != v.Field(i).Int()+w.Field(i).Int() {
			t.Fatalf("%s: %v and %v are %v", name, v.Field(i), w.Field(i), x.Field(i))
		}
	}
}

// onlyStatesDiffer tells whether two snapshots have the same sums.
func onlyStatesDiffer(a, b Stats) bool {
	for i := range a.Stages {
		a.Stages[i].Sampled = b.Stages[i].Sampled
	}
	return near(a, b)
}

// Stages are matched by name; what is a state and no sum is the other's.
func TestSumsOfOtherStages(t *testing.T) {
	a := Stats{Stages: []StageStats{{Name: "read", Workers: 2, In: 3}, {Name: "decode", In: 5, Sampled: true}},
		Queues: []QueueStats{{From: "read", To: "decode", Puts: 2, Len: 3, Observed: 1, Mean: 4}}}
	b := Stats{Stages: []StageStats{{Name: "decode", In: 1, Workers: 7}, {Name: "batch", Out: 4}},
		Queues: []QueueStats{{From: "read", To: "batch", Gets: 1}, {From: "read", To: "decode", Puts: 5, Len: 1, Observed: 3, Mean: 8}}}
	sum := a.Plus(b)
	want := Stats{
		Stages: []StageStats{{Name: "read", Workers: 2, In: 3}, {Name: "decode", In: 6, Workers: 7, Sampled: true},
			{Name: "batch", Out: 4}},
		Queues: []QueueStats{{From: "read", To: "decode", Puts: 7, Len: 1, Observed: 4, Mean: 7}, {From: "read", To: "batch", Gets: 1}},
	}
	if !reflect.DeepEqual(sum, want) {
		t.Errorf("%+v", sum)
	}
	if a.Stages[1].In != 5 || a.Queues[0].Puts != 2 {
		t.Errorf("the first has changed: %+v", a)
	}
}

// What was done before the consumer came is in no rate: it is counted as ahead, and
// clocks run from then on.
func TestClocksFromTheFirst(t *testing.T) {
	ahead := Stats{Elapsed: 10, Start: 1, Loop: 2, Waited: 3, Yielded: 4,
		Stages: []StageStats{{Name: "decode", In: 4, Out: 3, Busy: 8, Starved: 2}}, Queues: []QueueStats{{Puts: 3, Gets: 1,
			Full: 2, Observed: 5}}}
	now := Stats{Elapsed: 30, Start: 12, Loop: 15, Waited: 6, Yielded: 5,
		Stages: []StageStats{{Name: "decode", In: 10, Out: 9, Busy: 20, Starved: 7,
			Blocked: 1}}, Queues: []QueueStats{{Puts: 9, Gets: 8, Full: 4, Observed: 9}}}
	got := now.FromFirst(ahead)
	s := got.Stages[0]
	if got.Elapsed != 20 || got.Start != 12 || got.Loop != 15 || got.Waited != 6 || got.Yielded != 5 {
		t.Errorf("%+v", got)
	}
	if s.In != 10 || s.Out != 9 || s.Ahead != 4 || s.Busy != 12 || s.Starved != 5 || s.Blocked != 1 || s.Mean != 2 {
		t.Errorf("%+v", s)
	}
	if q := got.Queues[0]; q.Puts != 9 || q.Gets != 8 || q.Full != 2 || q.Observed != 4 {
		t.Errorf("%+v", q)
	}
	// What is on its way to workers elsewhere is not done yet.
	ahead.Stages[0].InFlightPerWorker, now.Stages[0].InFlightPerWorker = 2, 2
	if s := now.FromFirst(ahead).Stages[0]; s.Ahead != 3 {
		t.Errorf("%+v", s)
	}
	// Of batches, what is in those that were given is done.
	of := StageStats{Kind: "fill", InFlightPerWorker: 2, In: 28, Out: 4, Lost: 1}
	before := StageStats{Kind: "fill", InFlightPerWorker: 2, In: 18, Out: 2, Lost: 1}
	if s := (Stats{Stages: []StageStats{of}}).FromFirst(Stats{Stages: []StageStats{before}}).Stages[0]; s.Ahead != 2*7+1 {
		t.Errorf("%+v", s)
	}
}

// Shares are parts of a life, and add up to it.
func TestShares(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawStats(rt, "decode").Stages[0]
		s.InFlightPerWorker = rapid.IntRange(0, 4).Draw(rt, "hands")
		got := s.Shares()
		if s.InFlightPerWorker < 2 {
			s.Turn = 0 // who waits for a turn says nothing
			got = s.Shares()
		}
		sum := got.Starved + got.Busy + got.Blocked + got.Gated
		if life := s.Busy + s.Starved + s.Blocked + s.Gated + s.Queued + s.Over; life > 0 &&
			s.Starved+s.Blocked+s.Gated+s.Queued+s.Over > 0 && math.Abs(sum-1) > 1e-9 {
			rt.Fatalf("%+v: %+v add up to %v", s, got, sum)
		}
		if got.Busy < s.Worked()-1e-9 || s.Worked() > 1 {
			rt.Fatalf("%+v: worked %v, busy %v", s, s.Worked(), got.Busy)
		}
		var back struct {
			In     int64  `json:"in"`
			Shares Shares `json:"shares"`
		}
		if text, err := json.Marshal(s); err != nil || json.Unmarshal(text, &back) != nil || back.Shares != got || back.In != s.In {
			rt.Fatalf("%v: %s", err, text)
		}
	})
	for name, c := range map[string]struct {
		stage StageStats
		want  Shares
	}{
		"nothing has happened": {StageStats{}, Shares{}},
		"a plain stage":        {StageStats{Starved: 10, Busy: 60, Blocked: 20, Gated: 10}, Shares{0.1, 0.6, 0.2, 0.1}},
		"through":              {StageStats{Starved: 10, Busy: 10, Over: 80}, Shares{Starved: 0.9, Busy: 0.1}},
		"workers elsewhere":    {StageStats{InFlightPerWorker: 4, Busy: 50, Queued: 100, Blocked: 50}, Shares{Busy: 1}},
		"who wait for items": {StageStats{InFlightPerWorker: 2, Busy: 20, Starved: 60, Queued: 20},
			Shares{0.6 * 60 / 80, 0.4 + 0.6*20/80, 0, 0}},
	} {
		got := c.stage.Shares()
		for i, pair := range [][2]float64{{got.Starved, c.want.Starved}, {got.Busy, c.want.Busy},
			{got.Blocked, c.want.Blocked}, {got.Gated, c.want.Gated}} {
			if math.Abs(pair[0]-pair[1]) > 1e-9 {
				t.Errorf("%s: share %d of %+v, not %+v", name, i, got, c.want)
			}
		}
	}
}

// A quantile against a sorted list.
func TestQuantiles(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var buckets []Bucket
		var all []time.Duration
		for i := range rapid.IntRange(1, 6).Draw(rt, "buckets") {
			b := Bucket{time.Duration(10 * (i + 1)), rapid.Int64Range(1, 4).Draw(rt, "count")}
			buckets = append(buckets, b)
			all = append(all, slices.Repeat([]time.Duration{b.UpTo}, int(b.Count))...)
		}
		q := rapid.SampledFrom([]float64{0.25, 0.5, 0.75, 1}).Draw(rt, "q")
		if got, want := Quantile(buckets, q), all[int(math.Ceil(q*float64(len(all))))-1]; got != want {
			rt.Fatalf("%v of %v is %v, not %v", q, buckets, got, want)
		}
	})
	if Quantile(nil, 0.5) != 0 {
		t.Error("of nothing")
	}
}
