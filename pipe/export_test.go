package pipe

import "pgregory.net/rapid"

// Haste draws after how many fast operations a worker counts as fast, so that short models see what long runs do. The func that it returns
// restores what was.
func Haste(t *rapid.T) (restore func()) {
	was := fastStreak
	fastStreak = rapid.SampledFrom([]int{1, 5, was}).Draw(t, "fast from")
	return func() { fastStreak = was }
}
