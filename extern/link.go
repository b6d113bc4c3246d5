package extern

import (
	"fmt"
	"headrace/extern/internal/shared"
	"headrace/wire"
	"slices"
	"sync"
)

// link is a connection with a worker: of one lane, or of all that an event loop has.
type link struct {
	conn *wire.Conn

	mu    sync.Mutex
	known map[uint64]bool // segments that the worker knows of; guarded by mu
}

func newLink(conn *wire.Conn) *link {
	return &link{conn: conn, known: map[uint64]bool{shared.HeapSpace: true}}
}

// lacks tells whether the worker does not know a segment.
func (k *link) lacks(number uint64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return !k.known[number]
}

// announce tells the worker of those segments that it does not know.
func (k *link) announce(numbers []uint64, spaces *shared.Spaces) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, number := range numbers {
		if k.known[number] {
			continue
		}
		err := spaces.With(number, func(s shared.Space) error {
			payload := wire.AppendSegment(nil, wire.Segment{ID: uint32(number), Slots: 1, SlotBytes: uint64(len(s.Memory)), Bytes: uint64(len(s.Memory))})
			return k.conn.Send(wire.KindSegment, 0, payload, s.FD)
		})
		if err != nil {
			return err
		}
		k.known[number] = true
	}
	return nil
}

// streams gives frames of a connection to those that they are for, each of whom has a
// stream.
type streams struct {
	*link
	most int

	mu      sync.Mutex        // guards what is below
	inboxes []chan wire.Frame // by stream; nil: it is free
	err     error             // why nothing is received any more
}

// open returns a stream that is free, from 1 on, and what comes on it; 0: there is none.
func (s *streams) open() (stream uint32, inbox <-chan wire.Frame) {
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

// free says that a stream is not used any more.
func (s *streams) free(stream uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inboxes[stream] = nil
}

// read receives until that fails, which failure tells from then on. All inboxes are
// closed then.
func (s *streams) read() error {
	for {
		f, err := s.conn.Receive()
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
func (s *streams) hand(f wire.Frame) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.Kind == wire.KindError && f.Stream == 0 {
		return fmt.Errorf("%w: %s", errWorker, f.Payload)
	}
	if int(f.Stream) >= len(s.inboxes) || s.inboxes[f.Stream] == nil {
		return fmt.Errorf("%w: a worker sent %v for a call that there is not", wire.ErrProtocol, f.Kind)
	}
	f.Payload = slices.Clone(f.Payload)
	select {
	case s.inboxes[f.Stream] <- f:
		return nil
	default:
		return fmt.Errorf("%w: a worker sent %v before it was asked", wire.ErrProtocol, f.Kind)
	}
}

func (s *streams) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
	for _, inbox := range s.inboxes {
		if inbox != nil {
			close(inbox)
		}
	}
}

func (s *streams) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}
