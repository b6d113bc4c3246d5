package main

import (
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/export"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/stats"
)

// progress is how far a run is.
type progress struct {
	epoch, epochs int
	begun         time.Time // the run
	epochBegun    time.Time
	samples, lost int64 // of the epoch
	perEpoch      int64 // samples
	before        int64 // samples of the epoch that an earlier run has written, which are in samples
	total         int64 // samples of this run
	totalBatches  int64
	totalLost     int64
	replaced      int64 // of total
}

// left is the number of samples that are still to come.
func (p progress) left() float64 {
	return float64(max(0, p.perEpoch-p.samples-p.lost)) + float64(max(0, p.epochs-p.epoch-1))*float64(p.perEpoch)
}

// start is what a watcher gets first.
type start struct {
	file recipe.File
	info headrace.Info
	out  *export.Export // nil: samples are written nowhere
	now  progress
}

// ending is what a watcher gets last.
type ending struct {
	code     int
	err      error
	stats    stats.Snapshot
	manifest *export.Manifest // nil: nothing was written, or not all
	trace    *traceEvent      // nil: there is none
	now      progress
}

// watcher learns what happens.
type watcher interface {
	start(start)
	batch(progress)
	lost(headrace.Lost, progress)
	epoch(headrace.EpochSummary, progress)
	warn(code, message string)
	end(ending) error
}
