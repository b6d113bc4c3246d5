package recode

import (
	"context"
	"errors"
	"io"
	"iter"
	"os"

	"github.com/headrace/headrace/media/av/packets"
)

// puller is the packets of a window, taken one by one. It has to be closed.
type puller struct {
	format  string
	streams []packets.Stream
	clock   *Clock

	first []packets.Packet // that was read to know the rest; none: it was taken
	next  func() (packets.Packet, error, bool)
	stop  func()
}

var errStopped = errors.New("recode: no more packets are wanted")

func pull(file *os.File, w *Window) (*puller, error) {
	s := new(puller)
	s.next, s.stop = iter.Pull2(func(yield func(packets.Packet, error) bool) {
		begin := func(in *input) error {
			s.format, s.streams, s.clock = in.format, in.streams, in.clock
			return nil
		}
		err := read(context.Background(), file, w, begin, func(p *packets.Packet) error {
			if !yield(*p, nil) {
				return errStopped
			}
			return nil
		})
		if err != nil && err != errStopped {
			yield(packets.Packet{}, err)
		}
	})
	p, err, ok := s.next()
	if err != nil {
		s.stop()
		return nil, err
	}
	if ok {
		s.first = []packets.Packet{p}
	}
	return s, nil
}

// take returns the next packet, and io.EOF after the last.
func (s *puller) take() (packets.Packet, error) {
	if len(s.first) > 0 {
		p := s.first[0]
		s.first = nil
		return p, nil
	}
	p, err, ok := s.next()
	if !ok {
		return p, io.EOF
	}
	return p, err
}

func (s *puller) close() { s.stop() }
