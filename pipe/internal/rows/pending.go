package rows

import (
	"github.com/headrace/headrace/pipe/internal/failure"
	"github.com/headrace/headrace/pipe/internal/progress"
)

// A Kind says what became of an input.
type Kind uint8

// The kinds of outcomes.
const (
	Written  Kind = iota // its row is written
	Gone                 // it was dropped on purpose, or is lost when there is a failure
	Failed               // it has failed, and the policy has not judged it
	EpochEnd             // it was no item: the epoch is over
	Fatal                // the run ends here, because of the failure
)

// An Outcome is what became of an input.
type Outcome struct {
	Kind    Kind
	Last    bool // of EpochEnd: no epoch follows
	Lineage progress.Lineage
	Failure *failure.Failure
}

// pending is the input in its order, from the oldest that is not settled, or not dealt
// with yet. Inputs are numbered from 0 on.
type pending[B any] struct {
	rows []pendingRow[B]
	head int64
	tail int64
}

// A pendingRow is an input. It is settled when its row is written, or it will have none.
type pendingRow[B any] struct {
	Outcome
	settled bool
	ends    bool // of an item: its batch ends after it
	epoch   int
	ref     Ref[B]
}

func (p *pending[B]) len() int { return int(p.tail - p.head) }

func (p *pending[B]) at(number int64) *pendingRow[B] {
	return &p.rows[number%int64(len(p.rows))]
}

// push adds an input and returns its number.
func (p *pending[B]) push(e pendingRow[B]) int64 {
	if p.len() == len(p.rows) {
		p.grow(max(pendingSlack, 2*p.len()))
	}
	*p.at(p.tail) = e
	p.tail++
	return p.tail - 1
}

// grow makes room for n inputs.
func (p *pending[B]) grow(n int) {
	wider := pending[B]{rows: make([]pendingRow[B], n), head: p.head, tail: p.tail}
	for number := p.head; number < p.tail; number++ {
		*wider.at(number) = *p.at(number)
	}
	*p = wider
}

// first is the oldest if it is settled, or nil.
func (p *pending[B]) first() *pendingRow[B] {
	if p.head == p.tail {
		return nil
	}
	if e := p.at(p.head); e.settled {
		return e
	}
	return nil
}

// pop removes the oldest.
func (p *pending[B]) pop() {
	*p.at(p.head) = pendingRow[B]{}
	p.head++
}
