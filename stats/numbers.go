package stats

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// percent formats a share. A small share is not shown as nothing.
func percent(share float64) string {
	switch {
	case share > 0 && share < 0.005:
		return "<1 %"
	case share > 0.995 && share < 1:
		return ">99 %"
	default:
		return fmt.Sprintf("%.0f %%", 100*share)
	}
}

// duration writes three digits, enough to compare and not too many to read.
func duration(d time.Duration) string {
	if d >= 3*time.Hour {
		return count(d.Hours()) + " h"
	}
	for _, u := range []struct {
		size time.Duration
		name string
	}{{time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "µs"}} {
		// 999.6 ms would be written as 1000 ms.
		if float64(d) >= 0.9995*float64(u.size) {
			return digits(float64(d)/float64(u.size)) + " " + u.name
		}
	}
	return fmt.Sprintf("%d ns", max(d, 0))
}

// count writes whole numbers up to a million as they are.
func count(x float64) string {
	switch {
	case x < 9.995:
		return digits(x)
	case x < 999_999.5:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case x < 999.5e6:
		return digits(x/1e6) + "M"
	default:
		return digits(x/1e9) + "G"
	}
}

// whole writes a number of items.
func whole(n int64) string {
	if n < 1_000_000 {
		return strconv.FormatInt(n, 10)
	}
	return count(float64(n))
}

// digits formats a number to three digits, or more if there are more before the point,
// without zeros after whole numbers.
func digits(x float64) string {
	places := 2
	switch {
	case x >= 99.95:
		places = 0
	case x >= 9.995:
		places = 1
	}
	scale := math.Pow(10, float64(places))
	return strconv.FormatFloat(math.Round(x*scale)/scale, 'f', -1, 64)
}

func rate(n int64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}
