package worker

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/headrace/headrace/pipe/observe"
)

func TestHistogramBuckets(t *testing.T) {
	for i := range histogramSize - 1 {
		top := bucketTop(i)
		if bucketOf(top) != i || bucketOf(top+1) != i+1 {
			t.Fatalf("bucket %d ends at %d, which is in bucket %d, and the next in %d", i, top, bucketOf(top), bucketOf(top+1))
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
			h.Add(all[i])
		}
		slices.Sort(all)
		for _, q := range []float64{0.01, 0.5, 0.9, 0.99, 1} {
			exact := all[max(0, int(float64(n)*q+0.999999)-1)]
			if got := observe.Quantile(h.buckets(), q); got < exact || got > exact+exact/fine+1 {
				t.Errorf("%d samples: the %g quantile is %v, not %v", n, q, got, exact)
			}
		}
	}
	if observe.Quantile(nil, 0.5) != 0 {
		t.Error("a percentile of nothing")
	}
}

// A slow operation ends the streak, and with it the runs.
func TestPace(t *testing.T) {
	var p Sampler
	for range FastStreak {
		if p.Limit(MaxRun) != 1 {
			t.Fatal("runs begin too early")
		}
		p.took(1, time.Microsecond)
	}
	if p.Limit(MaxRun) != MaxRun || LongestRun(1) != MaxRun || LongestRun(2) != 1 {
		t.Error("runs do not begin")
	}
	p.took(8, 8*FastOp)
	if p.Limit(MaxRun) != 1 {
		t.Error("runs do not end")
	}
}
