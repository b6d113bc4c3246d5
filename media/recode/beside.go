package recode

import (
	"io"
	"os"

	"github.com/headrace/headrace/media/av/packets"
	"github.com/headrace/headrace/media/ffmpeg"
)

// beside is a file whose packets go along with streams that are encoded.
type beside struct {
	*puller
	moved
	number int // of its first stream in the container
	writer *ffmpeg.Writer
	waits  *packets.Packet
}

// Beside copies packets of a window of a file, unchanged, along with the arrays that are
// encoded: as far as the first of these has come, and the rest at the end. The file's
// time begins with its first displayed frame or, without video, with its first sample,
// as the arrays' times do.
func (s *Saver) Beside(file *os.File, w *Window) error {
	of, err := pull(file, w)
	if err != nil {
		return err
	}
	s.beside = &beside{of, from(of.clock.Zero, of.streams), len(s.streams), s.writer, nil}
	for _, stream := range of.streams {
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
			if err := b.move(&p); err != nil {
				return err
			}
			b.waits = &p
		}
		p := b.waits
		base := b.puller.streams[p.Stream].TimeBase
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
