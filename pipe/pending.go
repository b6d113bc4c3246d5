package pipe

import (
	"headrace/pipe/internal/failure"
	"headrace/pipe/internal/progress"
	"headrace/pipe/internal/queue"
)

// A line is the input of a fill in its order, from the oldest entry that is not settled,
// or not dealt with yet. Entries are numbered from 0 on.
type pending[B any] struct {
	entries []pendingRow[B]
	head    int64
	tail    int64
}

// An entry is an input message. It is settled when its row is written, or it will have
// none.
type pendingRow[B any] struct {
	settled bool
	kind    queue.Kind
	last    bool
	ends    bool // of an item: its batch ends behind it
	epoch   int
	row     rowRef[B]
	lineage progress.Lineage
	failure *failure.Failure
}

// A seat is a row of a slot, and the batch where it was written.
type rowRef[B any] struct {
	batch  *openBatch[B]
	buffer *buffer[B]
	row    int
}

// grow makes room for n entries at least.
func (l *pending[B]) grow(n int) {
	if n <= len(l.entries) {
		return
	}
	wider := pending[B]{entries: make([]pendingRow[B], n), head: l.head, tail: l.tail}
	for number := l.head; number < l.tail; number++ {
		*wider.at(number) = *l.at(number)
	}
	*l = wider
}

func (l *pending[B]) len() int { return int(l.tail - l.head) }

func (l *pending[B]) at(number int64) *pendingRow[B] {
	return &l.entries[number%int64(len(l.entries))]
}

// push adds an entry and returns its number.
func (l *pending[B]) push(e pendingRow[B]) int64 {
	if l.len() == len(l.entries) {
		l.grow(max(pendingSlack, 2*l.len()))
	}
	*l.at(l.tail) = e
	l.tail++
	return l.tail - 1
}

// pop removes the head if it is settled.
func (l *pending[B]) pop() (e pendingRow[B], ok bool) {
	if l.head == l.tail || !l.at(l.head).settled {
		return e, false
	}
	e, *l.at(l.head) = *l.at(l.head), e
	l.head++
	return e, true
}
