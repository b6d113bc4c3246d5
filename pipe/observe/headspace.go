package observe

import (
	"fmt"
	"time"
)

// A Headspace is how long a consumer took for so many items, from a flow and from memory.
type Headspace struct {
	Items  int           `json:"items"`
	Flow   time.Duration `json:"flow_ns"`
	Waited time.Duration `json:"waited_ns"` // of it for the flow
	Cached time.Duration `json:"cached_ns"`
}

// Ratio is how many times as fast the consumer would be if its items cost nothing.
func (h Headspace) Ratio() float64 {
	if h.Cached <= 0 {
		return 0
	}
	return float64(h.Flow) / float64(h.Cached)
}

func (h Headspace) String() string {
	rate := func(d time.Duration) float64 { return float64(h.Items) / max(d, 1).Seconds() }
	return fmt.Sprintf("%.4g items/s from the flow, waiting for it %s of the time; %.4g items/s from memory, which is %.2f times as fast\n",
		rate(h.Flow), percent(h.Waited, h.Flow), rate(h.Cached), h.Ratio())
}
