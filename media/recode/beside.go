package recode

import (
	"fmt"
	"io"
	"os"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/av/packets"
	"github.com/headrace/headrace/media/ffmpeg"
)

// beside is a file whose packets go along with streams that are encoded.
type beside struct {
	*puller
	number  int // of its first stream in the container
	writer  *ffmpeg.Writer
	earlier []int64 // by how much times are, in ticks of each stream
	last    []int64 // the DTS before
	waits   *packets.Packet
}

// Beside copies packets of a window of a file, unchanged, along with the arrays that are
// encoded: as far as the first of these has come, and the rest at the end. The file's
// time begins with its first displayed frame or, without video, with its first sample,
// as the arrays' times do.
func (s *Saver) Beside(file *os.File, w *Window) error {
	from, err := pull(file, w)
	if err != nil {
		return err
	}
	b := &beside{puller: from, number: len(s.streams), writer: s.writer}
	s.beside = b
	for i := range b.streams {
		stream := b.streams[i]
		b.earlier = append(b.earlier, nearest(b.clock.Zero, stream.TimeBase))
		b.last = append(b.last, packets.NoTime)
		if err := s.writer.Add(&stream); err != nil {
			return err
		}
	}
	return nil
}

// write writes the packets up to a time; nil: all.
func (b *beside) write(until Second) error {
	for {
		if b.waits == nil {
			p, err := b.take()
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			if p.Other != nil {
				return fmt.Errorf("%w: the file is a chain of recordings whose headers differ, "+
					"and another container has room for one: split it, or decode it", media.ErrUnsupported)
			}
			b.move(&p)
			b.waits = &p
		}
		p := b.waits
		base := b.streams[p.Stream].TimeBase
		if until != nil && p.DTS != packets.NoTime && seconds(p.DTS, base).Cmp(until) > 0 {
			return nil
		}
		b.waits = nil
		p.Stream += b.number
		if err := b.writer.Write(p, base); err != nil {
			return err
		}
	}
}

// move gives a packet its time in the new file.
func (b *beside) move(p *packets.Packet) {
	p.Discard = false
	for _, t := range []*int64{&p.PTS, &p.DTS} {
		if *t != packets.NoTime {
			*t -= b.earlier[p.Stream]
		}
	}
	// The first samples of a recording that was joined are not part of it, and overlap
	// those before.
	if p.Begins && b.streams[p.Stream].Kind == av.Audio && p.DTS <= b.last[p.Stream] {
		p.PTS, p.DTS = b.last[p.Stream]+1, b.last[p.Stream]+1
	}
	b.last[p.Stream] = p.DTS
}
