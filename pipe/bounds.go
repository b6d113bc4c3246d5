package pipe

import "math"

// The greatest settings of a stage. More is a mistake in the description.
const (
	MaxWorkers = 1 << 16       // operations at once: Workers × InFlightPerWorker
	MaxBuffer  = 1 << 30       // items kept ready
	MaxBatch   = math.MaxInt32 // items of a batch, or rows
)

// bound records a setting that is not from 0, for the default, to most.
func (n *node) bound(name string, value, most int) {
	if value < 0 || value > most {
		n.mistake("%s is %d: it must be from 1 to %d, or 0 for the default", name, value, most)
	}
}

// boundBatch records a size of batches that cannot be.
func (n *node) boundBatch(size int, of string) {
	if size < 1 || size > MaxBatch {
		n.mistake("batches of %d %s: a batch must have from 1 to %d", size, of, MaxBatch)
	}
}

// tooMany reports whether so many workers run more operations at once than a stage may.
func tooMany(workers, hands int) bool { return workers > MaxWorkers/max(1, hands) }
