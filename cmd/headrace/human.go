package main

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/headrace/headrace/internal/words"
)

// perSecond writes a rate: 1,234 from a hundred on, 12.3 and 0.12 below.
func perSecond(n int64, d time.Duration) string {
	if n == 0 || d <= 0 {
		return "0"
	}
	return rateText(float64(n) / d.Seconds())
}

// rateText writes three digits that matter.
func rateText(x float64) string {
	switch {
	case x >= 99.95:
		return words.Thousands(int64(math.Round(x)))
	case x >= 9.995:
		return strconv.FormatFloat(x, 'f', 1, 64)
	default:
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
}

// seconds writes how long something took: 3 ms, 0.6 s, 12 s, 12:34.
func seconds(d time.Duration) string {
	switch {
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 9950*time.Millisecond:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 59500*time.Millisecond:
		return fmt.Sprintf("%.0f s", d.Seconds())
	default:
		return clock(d)
	}
}

// clock writes a time to go or gone: 0:07, 12:34, 1:02:03.
func clock(d time.Duration) string {
	s := int64(d.Round(time.Second) / time.Second)
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}
