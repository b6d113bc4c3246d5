package observe

import (
	"fmt"
	"time"
)

// A Span is a part of the life of a worker, or of the consumer: one operation, or one
// time of waiting. A worker's spans follow one another.
//
// Operations that are so fast that reading a clock would cost more than they do are one
// span together.
type Span struct {
	Stage  string // "": the consumer
	Worker int    // of the stage, from 0; the number of one that has left is given to the next that comes
	Kind   SpanKind
	Begin  time.Time
	Took   time.Duration

	Items int // operations that began in it; with HandOver, items

	// What the last of the operations was about: its input; of a source, what it made; of
	// what Next returns, that. Nil with the other kinds, and where an aggregator flushes.
	Item   any
	Source string // of the first of the source items that Item is made of; "": of none
	Epoch  int
	Pos    int64
	Err    error // what it failed with; Skip, too
}

// SpanKind says how a time was spent.
type SpanKind int

// The kinds of spans.
const (
	Operation SpanKind = iota // in operations: what is busy in StageStats
	Work                      // in what else is busy: a batch is sealed, then it is Item; a worker begins
	Starved                   // waiting for the stage before
	Blocked                   // waiting for the next stage, or for a Store
	Gated                     // waiting for a Gate
	Queued                    // with an item, waiting for a worker elsewhere
	HandOver                  // by the consumer: Next has an item, and returns it
	Consuming                 // by the consumer, between two calls of Next
)

var spanKinds = [...]string{"operation", "work", "starved", "blocked", "gated", "queued", "hand-over", "consuming"}

func (k SpanKind) String() string {
	if k < 0 || int(k) >= len(spanKinds) {
		return fmt.Sprintf("SpanKind(%d)", int(k))
	}
	return spanKinds[k]
}
