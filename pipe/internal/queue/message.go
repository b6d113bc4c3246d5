package queue

import (
	"github.com/headrace/headrace/pipe/internal/failure"
	"github.com/headrace/headrace/pipe/internal/progress"
)

// A msg is what travels in a queue: an item, or what became of items that travel no
// further.
type Message[T any] struct {
	Val     T
	Lineage progress.Lineage
	Kind    Kind
	Last    bool  // of a mark: no epoch follows
	Turn    int32 // of a turn: the number of the router that has sent it
	Failure *failure.Failure
}

// A Kind says what a message is about.
type Kind uint8

const (
	None   Kind = iota // an empty place
	Item               // val was made of the source items in lineage
	Gone               // the source items in lineage are finished: dropped on purpose, or lost when there is a failure
	Failed             // an operation failed for lineage; whoever takes it decides by the stage's policy whether it is gone or the end
	Mark               // the epoch is over
	Fatal              // the run ends here, because of the failure
	Turn               // in a branch, what came of one message has passed: every stage hands it on in order, and the join takes it
)

// JoinFailures makes one end of a run of several.
func JoinFailures[T any](all []Message[T]) Message[T] {
	first := all[0]
	joined := *first.Failure
	first.Failure = &joined
	for _, m := range all[1:] {
		joined.Others = append(joined.Others, failure.ItemFailure{Failure: m.Failure, Lineage: m.Lineage})
	}
	return first
}
