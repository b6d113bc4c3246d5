// Package link is connections with workers: what these know of shared memory, and streams
// of frames that several share.
package link

import (
	"errors"
	"fmt"
	"headrace/extern/internal/shared"
	"headrace/wire"
	"slices"
	"sync"
)

// ErrGivenUp says that a worker itself has failed, and not its function.
var ErrGivenUp = errors.New("extern: the worker has given up")

// A Link is a connection with a worker: of one lane, or of all that an event loop has.
type Link struct {
	Conn *wire.Conn

	mu    sync.Mutex
	known map[uint64]bool // segments that the worker knows of; guarded by mu
}

// New makes one whose worker knows of no memory but the heap.
func New(conn *wire.Conn) *Link {
	return &Link{Conn: conn, known: map[uint64]bool{shared.HeapSpace: true}}
}

// Lacks tells whether the worker does not know a segment.
func (k *Link) Lacks(number uint64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return !k.known[number]
}

// Announce tells the worker of those segments that it does not know.
func (k *Link) Announce(numbers []uint64, spaces *shared.Spaces) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, number := range numbers {
		if k.known[number] {
			continue
		}
		err := spaces.With(number, func(s shared.Space) error {
			payload := wire.AppendSegment(nil, wire.Segment{ID: uint32(number), Slots: 1, SlotBytes: uint64(len(s.Memory)), Bytes: uint64(len(s.Memory))})
			return k.Conn.Send(wire.KindSegment, 0, payload, s.FD)
		})
		if err != nil {
			return err
		}
		k.known[number] = true
	}
	return nil
}

// Forget notes that the worker does not know some segments any more.
func (k *Link) Forget(numbers []uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, number := range numbers {
		delete(k.known, number)
	}
}

// Streams gives frames of a connection to those that they are for, each of whom has a
// stream.
type Streams struct {
	*Link
	most int // streams at once

	mu      sync.Mutex        // guards what is below
	inboxes []chan wire.Frame // by stream; nil: it is free
	err     error             // why nothing is received any more
}

// NewStreams makes so many of a connection, at most.
func NewStreams(conn *wire.Conn, most int) *Streams { return &Streams{Link: New(conn), most: most} }

// Open returns a stream that is free, from 1 on, and what comes on it; 0: there is none.
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

// Free says that a stream is not used any more.
func (s *Streams) Free(stream uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inboxes[stream] = nil
}

// Read receives until that fails, which Failure tells from then on. All inboxes are
// closed then.
func (s *Streams) Read() error {
	for {
		f, err := s.Conn.Receive()
		if err == nil {
			err = s.hand(f)
		}
		if err != nil {
			s.fail(err)
			return err
		}
	}
}

// hand gives a stream its frame. A worker has one on its way to each at a time.
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

// Failure is why nothing is received any more; nil: it is.
func (s *Streams) Failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}
