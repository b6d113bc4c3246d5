package headrace

import (
	"os"

	"github.com/headrace/headrace/arena"
	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/stats"
)

// Options connect a loader to the program that runs it. The zero value is for a program
// that consumes the batches itself.
type Options struct {
	Gate     *Gate                     // shared by loaders of one process; nil: one of the loader's own
	Announce func(arena.Segment) error // a segment was made, before the first batch in it; nil: the consumer is in this process
	Held     func(*arena.HeldError)    // the consumer waits, and itself holds all that it may
	Lost     func(Lost)                // a sample was lost, before the batch whose state counts it
	Warn     func(code, message string)
	InFlight func() InFlight       // asked at every Start; nil: nothing is noted
	Ledger   bool                  // batches know where their rows come from: [Batch.Origins]
	Looped   func() stats.Snapshot // statistics with the consumer's own clock; nil: as the loader's own
	Consumer int                   // the process that gets the batches, of which the statistics tell, too; 0: this one
	Scanned  func(done, all int)   // how many shards of a source have been scanned that were not known, of all of these
	// the loader is described and never started: no function of Python is imported, and
	// [ErrUncalled] comes where one would have to be
	Look bool

	trial *trial // nil: it is no profile

	Python *extern.Interpreter // for the functions of Python that a recipe has; nil: the one that extern.Default finds
	// what these functions log, warn and print, by several goroutines at once; nil:
	// extern.Print to standard error
	Log func(extern.Line)
}

// trial is what a loader is opened for that is profiled: it has memory without end, and
// slots as if it had not, for as many workers as are tried.
type trial struct {
	memory  int64
	workers int
}

func (o Options) withDefaults() Options {
	if o.Gate == nil {
		o.Gate = NewGate()
	}
	if o.Held == nil {
		o.Held = func(*arena.HeldError) {}
	}
	if o.Warn == nil {
		o.Warn = func(string, string) {}
	}
	if o.Log == nil {
		o.Log = extern.Print(os.Stderr)
	}
	return o
}
