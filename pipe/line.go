package pipe

import "headrace/pipe/internal/progress"

// A line is the input of a fill in its order, from the oldest entry that is not settled, or not dealt with yet. Entries are
// numbered from 0 on.
type line[B any] struct {
	entries []entry[B]
	head    int64
	tail    int64
}

// An entry is an input message. It is settled when its row is written, or it will have none.
type entry[B any] struct {
	settled bool
	kind    kind
	last    bool
	ends    bool // of an item: its batch ends behind it
	epoch   int
	seat    seat[B]
	lineage progress.Lineage
	failure *failure
}

// A seat is a row of a slot, and the batch where it was written.
type seat[B any] struct {
	slot *slot[B]
	lot  *lot[B]
	row  int
}

// grow makes room for n entries at least.
func (l *line[B]) grow(n int) {
	if n <= len(l.entries) {
		return
	}
	wider := line[B]{entries: make([]entry[B], n), head: l.head, tail: l.tail}
	for number := l.head; number < l.tail; number++ {
		*wider.at(number) = *l.at(number)
	}
	*l = wider
}

func (l *line[B]) len() int { return int(l.tail - l.head) }

func (l *line[B]) at(number int64) *entry[B] {
	return &l.entries[number%int64(len(l.entries))]
}

// push adds an entry and returns its number.
func (l *line[B]) push(e entry[B]) int64 {
	if l.len() == len(l.entries) {
		l.grow(max(lineSlack, 2*l.len()))
	}
	*l.at(l.tail) = e
	l.tail++
	return l.tail - 1
}

// pop removes the head if it is settled.
func (l *line[B]) pop() (e entry[B], ok bool) {
	if l.head == l.tail || !l.at(l.head).settled {
		return e, false
	}
	e, *l.at(l.head) = *l.at(l.head), e
	l.head++
	return e, true
}
