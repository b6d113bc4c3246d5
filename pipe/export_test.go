package pipe

import (
	"github.com/headrace/headrace/pipe/internal/queue"
	"github.com/headrace/headrace/pipe/internal/worker"

	"pgregory.net/rapid"
)

// Haste draws after how many fast operations a worker counts as fast, so that short
// models see what long runs do. The func that it returns restores what was. Queues begin
// with few places, too.
func Haste(t *rapid.T) (restore func()) {
	streak, places := worker.FastStreak, queue.InitialCapacity
	worker.FastStreak = rapid.SampledFrom([]int{1, 5, streak}).Draw(t, "fast from")
	queue.InitialCapacity = rapid.SampledFrom([]int{1, 3, places}).Draw(t, "places at first")
	return func() { worker.FastStreak, queue.InitialCapacity = streak, places }
}
