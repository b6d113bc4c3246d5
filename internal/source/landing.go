package source

import (
	"context"
	"fmt"
	"sync"

	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/pipe"
)

// rowsAhead is how many samples of a stream are given a row before they are there.
const rowsAhead = 2

// landing is a sample that its worker has, and that has no values yet. Its record goes
// ahead, gets a row of a batch, and brings that back; then the worker writes the arrays
// there. If the record is dropped on its way, so is the sample.
type landing struct {
	of     *Iterable
	rowed  chan struct{} // closed when it is known where the row is, or that there is none
	landed chan struct{} // closed when the sample is there, or will not come

	mu      sync.Mutex
	row     [][]byte       // guarded by mu: by field; nil: nobody knows, or there is none
	dropped bool           // guarded by mu: there is none
	out     []extern.Value // guarded by mu: until somebody takes them
	err     error          // guarded by mu
}

func newLanding(of *Iterable) *landing {
	return &landing{of: of, rowed: make(chan struct{}), landed: make(chan struct{})}
}

// landed has a sample wait for its row that came with messages.
func (s *Iterable) landed(it *record.Record, out []extern.Value) (bytes int64) {
	l := newLanding(s)
	l.land(out, nil)
	it.Opened = l
	for i := range out {
		bytes += int64(len(out[i].Data))
	}
	return bytes
}

// room is the memory of a field, once that is known; nil: there is none, or the run has
// ended.
func (l *landing) room(ctx context.Context, field int) []byte {
	err := pipe.WaitBlocked(ctx, func() error {
		select {
		case <-l.rowed:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil || field >= len(l.row) {
		return nil
	}
	return l.row[field]
}

// offer gives the row, which is written to until the sample has landed.
func (l *landing) offer(row [][]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.row == nil && !l.dropped {
		l.row = row
		close(l.rowed)
	}
}

// land ends it. It reports whether there is a record that the values, or the error, are
// for.
func (l *landing) land(out []extern.Value, err error) (wanted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dropped {
		l.of.giveBack(out)
	} else {
		l.out, l.err = append(l.out, out...), err
	}
	close(l.landed)
	return !l.dropped
}

// take returns the values that have landed. They are the caller's.
func (l *landing) take() ([]extern.Value, error) {
	<-l.landed
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.out
	l.out = nil
	return out, l.err
}

// Load implements record.Opened.
func (l *landing) Load() (int64, error) { return 0, nil }

// Close implements record.Opened: the record is dropped, or done with.
func (l *landing) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.row == nil && !l.dropped {
		close(l.rowed)
	}
	l.dropped = true
	l.of.giveBack(l.out)
	l.out = nil
}

// land has the worker of the stream write a sample into its row, which the worker has
// until it has answered, or is dead.
func (s *Iterable) land(it *record.Record, c *extern.Call) error {
	l := it.Opened.(*landing)
	l.offer(c.Room)
	out, err := l.take()
	if err != nil {
		return err
	}

	for i, v := range out {
		row := c.Room[i]
		if row != nil && !same(v.Data, row) { // it came with the message
			if len(v.Data) != len(row) {
				s.giveBack(out[i:])
				return fmt.Errorf("field %q has %d bytes, and its row has room for %d", s.python.Out[i].Name, len(v.Data), len(row))
			}
			copy(row, v.Data)
			s.giveBack(out[i : i+1])
			v.Data = row
		}
		c.Out, c.Same = append(c.Out, v), append(c.Same, -1)
	}
	return nil
}

// same tells whether two pieces of memory begin at one place.
func same(a, b []byte) bool { return len(a) > 0 && len(b) > 0 && &a[0] == &b[0] }
