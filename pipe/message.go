package pipe

import "headrace/pipe/internal/progress"

// A msg is what travels in a queue: an item, or news about items that travel no further.
type msg[T any] struct {
	val     T
	lineage progress.Lineage
	kind    kind
	last    bool // of a mark: no epoch follows
	news    *news
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
type news struct {
	stage *stage
	err   error
	final bool // the stage's own policy has judged it
	stops bool // no policy tolerates it
	also  []trouble
}

// A trouble is another failure, of a flow beside.
type trouble struct {
	news    *news
	lineage progress.Lineage
}

// CountedBy tells the run's tracker whose policy has counted a loss.
func (n *news) CountedBy() (stage string) {
	if n.final {
		return n.stage.name
	}
	return ""
}

// troubleOf is the trouble that became a part of something.
func troubleOf(l progress.LostInput) trouble { return trouble{l.Why.(*news), l.Of} }

// joinFailures makes one end of a run of several.
func joinFailures[T any](all []msg[T]) msg[T] {
	first := all[0]
	joined := *first.news
	first.news = &joined
	for _, m := range all[1:] {
		joined.also = append(joined.also, trouble{m.news, m.lineage})
	}
	return first
}
