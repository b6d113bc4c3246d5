package observe

import "time"

// A Bucket counts the operations that took no longer than UpTo, and longer than the
// bucket before.
type Bucket struct {
	UpTo  time.Duration `json:"up_to_ns" doc:"the most time that one took, in ns"`
	Count int64         `json:"count" counter:"calls" doc:"operations that took longer than those of the bucket before"`
}

// Quantile is the duration below which a share q of the operations are; 0 when there were
// none.
func Quantile(buckets []Bucket, q float64) time.Duration {
	var total, seen int64
	for _, b := range buckets {
		total += b.Count
	}
	for _, b := range buckets {
		seen += b.Count
		if float64(seen) >= q*float64(total) {
			return b.UpTo
		}
	}
	return 0
}
