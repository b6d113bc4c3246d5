package budget

import (
	"context"
	"errors"
	"sync"
)

// ErrTooSmall is what Reserve's refusals wrap.
var ErrTooSmall = errors.New("budget: too small")

// Purpose names what bytes are held for, in statistics and errors: "read", "batch".
// Purposes are few, and fixed in the program's text.
type Purpose string

// Budget is a number of bytes that its users share. Make one with [New].
type Budget struct {
	limit int64
	first *Lane

	mu       sync.Mutex
	used     int64 // granted, and reserved
	reserved int64
	peak     int64
	forced   int64 // grants that did not fit, admitted because theirs was the oldest item
	arrivals uint64
	waiting  int
	purposes []PurposeStats
	lanes    []*Lane
}

// New returns a budget of limit bytes. One without a positive limit admits the oldest
// item alone.
func New(limit int64) *Budget {
	b := &Budget{limit: max(0, limit)}
	b.first = b.Lane()
	return b
}

// Acquire is [Lane.Acquire] of the budget's first lane, for runs that need no other.
func (b *Budget) Acquire(ctx context.Context, order uint64, purpose Purpose, n int64) (Grant, error) {
	return b.first.Acquire(ctx, order, purpose, n)
}

// charge changes what the purpose holds by n bytes.
func (b *Budget) charge(purpose int, n int64) {
	b.used += n
	b.peak = max(b.peak, b.used)
	p := &b.purposes[purpose]
	p.Used += n
	p.Peak = max(p.Peak, p.Used)
}

// purpose finds the purpose's place in the statistics. A list, because there are half a
// dozen and a map would cost more.
func (b *Budget) purpose(name Purpose) int {
	for i := range b.purposes {
		if b.purposes[i].Purpose == name {
			return i
		}
	}
	b.purposes = append(b.purposes, PurposeStats{Purpose: name})
	return len(b.purposes) - 1
}
