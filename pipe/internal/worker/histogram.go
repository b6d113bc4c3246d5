package worker

import (
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/pipe/observe"
)

// A histogram counts durations in buckets whose width grows with the duration: 16 to a
// power of two, so that a percentile is at most 1/16 above the truth.
type histogram struct {
	counts [histogramSize]atomic.Int64
}

const (
	fineBits      = 4
	fine          = 1 << fineBits
	histogramSize = (43-fineBits)*fine + fine // up to 2^43 ns, more than two hours
)

func (h *histogram) Add(d time.Duration) {
	h.counts[bucketOf(d)].Add(1)
}

func bucketOf(d time.Duration) int {
	n := uint64(max(0, d))
	if n < fine {
		return int(n)
	}
	shift := bits.Len64(n) - 1 - fineBits
	return min(shift*fine+int(n>>shift), histogramSize-1)
}

// bucketTop is the longest duration in a bucket.
func bucketTop(i int) time.Duration {
	if i < fine {
		return time.Duration(i)
	}
	shift := i/fine - 1
	return time.Duration(fine+i%fine+1)<<shift - 1
}

// buckets lists the buckets that are not empty.
func (h *histogram) buckets() []observe.Bucket {
	var all []observe.Bucket
	for i := range h.counts {
		if n := h.counts[i].Load(); n > 0 {
			all = append(all, observe.Bucket{UpTo: bucketTop(i), Count: n})
		}
	}
	return all
}
