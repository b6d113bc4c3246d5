package pipe

import "headrace/pipe/internal/progress"

// A msg is what travels in a queue: an item, or news about items that travel no further.
type msg[T any] struct {
	val     T
	lineage progress.Lineage
	kind    kind
	last    bool // of a mark: no epoch follows
	failure *failure
}

type kind uint8

const (
	none   kind = iota // an empty place
	item               // val was made of the source items in lineage
	gone               // the source items in lineage are finished: dropped on purpose, or lost when there are news
	failed             // an operation failed for lineage; whoever takes it decides by the stage's policy whether it is gone or the end
	mark               // the epoch is over
	fatal              // the run ends here, because of news
)

// news tell what went wrong.
type failure struct {
	stage   *stage
	err     error
	counted bool // the stage's own policy has judged it
	stops   bool // no policy tolerates it
	others  []itemFailure
}

// A trouble is another failure, of a flow beside.
type itemFailure struct {
	failure *failure
	lineage progress.Lineage
}

// CountedBy tells the run's tracker whose policy has counted a loss.
func (n *failure) CountedBy() (stage string) {
	if n.counted {
		return n.stage.name
	}
	return ""
}

// troubleOf is the trouble that became a part of something.
func itemFailureOf(l progress.LostInput) itemFailure { return itemFailure{l.Why.(*failure), l.Of} }

// joinFailures makes one end of a run of several.
func joinFailures[T any](all []msg[T]) msg[T] {
	first := all[0]
	joined := *first.failure
	first.failure = &joined
	for _, m := range all[1:] {
		joined.others = append(joined.others, itemFailure{m.failure, m.lineage})
	}
	return first
}
