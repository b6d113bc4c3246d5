package steady

import "context"

// Turn is a lock whose waiters end with their context: of what takes as long as a
// request.
type Turn struct{ taken chan struct{} }

// NewTurn returns one that is free.
func NewTurn() Turn { return Turn{make(chan struct{}, 1)} }

// Take waits until it is the caller's, or until ctx ends. The caller gives it back.
func (t Turn) Take(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case t.taken <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Give gives it back.
func (t Turn) Give() { <-t.taken }
