package pipe

import "pgregory.net/rapid"

// Haste draws after how many fast operations a worker counts as fast, so that short models see what long runs do. The func that it returns
// restores what was. Queues begin with few places, too.
func Haste(t *rapid.T) (restore func()) {
	streak, places := fastStreak, initialCapacity
	fastStreak = rapid.SampledFrom([]int{1, 5, streak}).Draw(t, "fast from")
	initialCapacity = rapid.SampledFrom([]int{1, 3, places}).Draw(t, "places at first")
	return func() { fastStreak, initialCapacity = streak, places }
}
