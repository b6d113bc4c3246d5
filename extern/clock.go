package extern

import (
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// monotonic is the clock of the cells, in which workers write since when they work.
func monotonic() time.Duration {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil {
		return math.MinInt64
	}
	return time.Duration(now.Nano())
}
