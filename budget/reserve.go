package budget

import "fmt"

// Reserve sets n bytes aside, without waiting, for memory that is held as long as the
// run: a pool. Where they do not fit beside what else is reserved it refuses with an
// error that wraps ErrTooSmall; what items hold does not count, since it passes.
// Reservations should come first.
func (b *Budget) Reserve(purpose Purpose, n int64) error {
	if n < 0 {
		panic(fmt.Sprintf("budget: %d bytes reserved for %q", n, purpose))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reserved > b.limit-n {
		return &TooSmallError{Purpose: purpose, Need: n, Reserved: b.reserved, Limit: b.limit}
	}
	b.reserved += n
	b.charge(b.purpose(purpose), n)
	return nil
}

// Unreserve gives back n bytes of what was reserved for the purpose.
func (b *Budget) Unreserve(purpose Purpose, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n < 0 || n > b.reserved {
		panic(fmt.Sprintf("budget: %d bytes given back for %q, of %d reserved", n, purpose, b.reserved))
	}
	b.reserved -= n
	b.charge(b.purpose(purpose), -n)
	b.admit()
}

// Unreserved is the number of bytes that may still be reserved.
func (b *Budget) Unreserved() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(0, b.limit-b.reserved)
}

// TooSmallError says which reservation a budget refused. It wraps [ErrTooSmall].
type TooSmallError struct {
	Purpose  Purpose
	Need     int64 // bytes asked for
	Reserved int64 // bytes reserved before, for other purposes
	Limit    int64 // the budget
}

func (e *TooSmallError) Error() string {
	if e.Reserved == 0 {
		return fmt.Sprintf("budget: %q needs %d bytes at least, and the budget is %d", e.Purpose, e.Need, e.Limit)
	}
	return fmt.Sprintf("budget: %q needs %d bytes at least beside the %d reserved before, and the budget is %d",
		e.Purpose, e.Need, e.Reserved, e.Limit)
}

func (e *TooSmallError) Unwrap() error { return ErrTooSmall }
