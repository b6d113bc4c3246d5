// Package conn provides connections with workers.
//
// They track the shared memory that a worker has mapped, and can be split into streams.
package conn

import (
	"errors"
	"fmt"
	"github.com/headrace/headrace/extern/internal/shared"
	"github.com/headrace/headrace/wire"
	"slices"
	"sync"
)

// ErrGivenUp means that a worker itself has failed, not its function.
var ErrGivenUp = errors.New("extern: the worker has given up")

// A Conn is a connection with a worker, that of one thread or of an event loop, which
// tracks the segments that the worker has mapped.
type Conn struct {
	*wire.Conn

	mu    sync.Mutex
	known map[uint64]bool // segments that the worker knows of; guarded by mu
}

// New returns a connection whose worker knows no memory but the heap.
func New(on *wire.Conn) *Conn {
	return &Conn{Conn: on, known: map[uint64]bool{shared.HeapSpace: true}}
}

// Lacks reports whether the worker does not know a segment.
func (c *Conn) Lacks(number uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.known[number]
}

// Announce sends the worker those segments that it does not know.
func (c *Conn) Announce(numbers []uint64, spaces *shared.Spaces) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, number := range numbers {
		if c.known[number] {
			continue
		}
		err := spaces.With(number, func(s shared.Space) error {
			payload := wire.AppendSegment(nil, wire.Segment{ID: uint32(number), Slots: 1,
				SlotBytes: uint64(len(s.Memory)), Bytes: uint64(len(s.Memory))})
			return c.Send(wire.KindSegment, 0, payload, s.FD)
		})
		if err != nil {
			return err
		}
		c.known[number] = true
	}
	return nil
}

// Forget notes that the worker no longer knows some segments.
func (c *Conn) Forget(numbers []uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, number := range numbers {
		delete(c.known, number)
	}
}

// Streams multiplexes a connection: each frame goes to the stream it is addressed to.
type Streams struct {
	*Conn
	most int // streams at once

	mu      sync.Mutex        // guards what is below
	inboxes []chan wire.Frame // by stream; nil: it is free
	err     error             // why nothing is received any more
}

// NewStreams returns a connection of at most that many streams.
func NewStreams(on *wire.Conn, most int) *Streams { return &Streams{Conn: New(on), most: most} }

// Open returns a free stream, from 1 on, and its inbox. The stream is 0 if none is free.
func (s *Streams) Open() (stream uint32, inbox <-chan wire.Frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.inboxes) == 0 {
		s.inboxes = append(s.inboxes, nil) // stream 0 is the connection's own
	}
	i := 1 + slices.Index(s.inboxes[1:], nil)
	if i == 0 && len(s.inboxes) < s.most {
		i = len(s.inboxes)
		s.inboxes = append(s.inboxes, nil)
	}
	if i == 0 || s.err != nil {
		return 0, nil
	}
	s.inboxes[i] = make(chan wire.Frame, 1)
	return uint32(i), s.inboxes[i]
}

// Free makes a stream available again.
func (s *Streams) Free(stream uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inboxes[stream] = nil
}

// Read receives frames until that fails, then closes all inboxes. Failure returns the
// error from then on.
func (s *Streams) Read() error {
	for {
		f, err := s.Receive()
		if err == nil {
			err = s.hand(f)
		}
		if err != nil {
			s.fail(err)
			return err
		}
	}
}

// hand delivers a frame to its stream. A worker sends each stream one frame at a time.
func (s *Streams) hand(f wire.Frame) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.Kind == wire.KindError && f.Stream == 0 {
		return fmt.Errorf("%w: %s", ErrGivenUp, f.Payload)
	}
	if int(f.Stream) >= len(s.inboxes) || s.inboxes[f.Stream] == nil {
		return fmt.Errorf("%w: a worker sent %v for a call that does not exist", wire.ErrProtocol, f.Kind)
	}
	f.Payload = slices.Clone(f.Payload)
	select {
	case s.inboxes[f.Stream] <- f:
		return nil
	default:
		return fmt.Errorf("%w: a worker sent %v before it was asked", wire.ErrProtocol, f.Kind)
	}
}

func (s *Streams) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
	for _, inbox := range s.inboxes {
		if inbox != nil {
			close(inbox)
		}
	}
}

// Failure returns the error that ended Read, or nil while it is running.
func (s *Streams) Failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}
