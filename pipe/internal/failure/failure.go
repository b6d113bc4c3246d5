package failure

import (
	"sync/atomic"

	"github.com/headrace/headrace/pipe/internal/progress"
)

// An origin is a stage, as far as its failures have to know it.
type Origin struct {
	Stage string       // its name
	Key   string       // what a state calls it
	Rank  int          // steps from the consumer
	Lost  atomic.Int64 // items that failed in it, counted when the consumer learns of them, as the state does
}

// NewFailure is what went wrong in this stage.
func (o *Origin) NewFailure(err error) *Failure {
	return &Failure{From: o, Err: err, Stops: Stops(err)}
}

// A failure is what went wrong with an item, or with a stage.
type Failure struct {
	From    *Origin
	Err     error
	Counted bool // the stage's own policy has judged it
	Stops   bool // no policy tolerates it
	Others  []ItemFailure
}

// An itemFailure is a failure with what it is about.
type ItemFailure struct {
	Failure *Failure
	Lineage progress.Lineage
}

// CountedBy tells the run's tracker whose policy has counted a loss.
func (f *Failure) CountedBy() (key string) {
	if f.Counted {
		return f.From.Key
	}
	return ""
}

// Part is a loss that became a part of something.
func Part(l progress.LostInput) ItemFailure {
	return ItemFailure{l.Why.(*Failure), l.Of}
}
