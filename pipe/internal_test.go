package pipe

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A ledger against a set.
func TestLedgerIsASet(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := newLedger(SourceState{Epoch: 3})
		set := make(map[int64]bool)
		for range rapid.IntRange(0, 30).Draw(rt, "steps") {
			lo := rapid.Int64Range(0, 40).Draw(rt, "from")
			hi := lo + rapid.Int64Range(0, 6).Draw(rt, "length")
			l.finish(span{lo, hi})
			for i := lo; i < hi; i++ {
				set[i] = true
			}
			for i := range int64(50) {
				if l.has(i) != set[i] {
					rt.Fatalf("after [%d, %d): position %d: %v; %+v", lo, hi, i, l.has(i), l)
				}
			}
			if l.finished() != int64(len(set)) {
				rt.Fatalf("%d are finished, %+v", len(set), l)
			}
			s := l.state()
			at := s.Low
			for _, r := range s.Ahead {
				if r[0] <= at || r[1] <= r[0] {
					rt.Fatalf("ranges touch or are empty: %+v", s)
				}
				at = r[1]
			}
			if again := newLedger(s); !slices.Equal(again.ahead, l.ahead) || again.low != l.low || again.epoch != 3 {
				rt.Fatalf("%+v becomes %+v", l, again)
			}
		}
	})
}

// A ticket against a list.
func TestTicketIsAList(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var sum ticket
		var list []int64
		for range rapid.IntRange(0, 10).Draw(rt, "tickets") {
			var part ticket
			for range rapid.IntRange(1, 4).Draw(rt, "items") {
				pos := rapid.Int64Range(0, 6).Draw(rt, "position")
				part.add(one(pos))
				list = append(list, pos)
			}
			sum.add(part)
		}
		var got []int64
		sum.each(func(s span) {
			for i := s.lo; i < s.hi; i++ {
				got = append(got, i)
			}
		})
		if !slices.Equal(got, list) || sum.size() != int64(len(list)) {
			rt.Fatalf("%v, wanted %v", got, list)
		}
	})
}

func TestHistogramBuckets(t *testing.T) {
	for i := range histogramSize - 1 {
		top := bucketTop(i)
		if bucketOf(top) != i || bucketOf(top+1) != i+1 {
			t.Fatalf("bucket %d ends at %d, which lies in bucket %d, and the next in %d", i, top, bucketOf(top), bucketOf(top+1))
		}
	}
	if bucketOf(-1) != 0 || bucketOf(1<<62) != histogramSize-1 {
		t.Error("what fits nowhere goes into the outer buckets")
	}
}

// Percentiles against sorting.
func TestQuantilesAgainstSorting(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 5, 100, 1000} {
		var h histogram
		all := make([]time.Duration, n)
		for i := range all {
			all[i] = time.Duration(random.ExpFloat64() * float64(time.Millisecond))
			h.add(all[i])
		}
		slices.Sort(all)
		for _, q := range []float64{0.01, 0.5, 0.9, 0.99, 1} {
			exact := all[max(0, int(float64(n)*q+0.999999)-1)]
			if got := quantile(h.buckets(), q); got < exact || got > exact+exact/fine+1 {
				t.Errorf("%d samples: the %g quantile is %v, not %v", n, q, got, exact)
			}
		}
	}
	if quantile(nil, 0.5) != 0 {
		t.Error("a percentile of nothing")
	}
}

// A slow operation ends the streak, and with it the runs.
func TestPace(t *testing.T) {
	var p pace
	for range fastStreak {
		if p.limit(maxRun) != 1 {
			t.Fatal("runs begin too early")
		}
		p.took(1, time.Microsecond)
	}
	if p.limit(maxRun) != maxRun || longestRun(1) != maxRun || longestRun(2) != 1 {
		t.Error("runs do not begin")
	}
	p.took(8, 8*fastOp)
	if p.limit(maxRun) != 1 {
		t.Error("runs do not end")
	}
}
