package recode

import (
	"io"
	"os"

	"github.com/headrace/headrace/media/av/packets"
	"github.com/headrace/headrace/media/ffmpeg"
)

// Beside is a window of a file, whose packets are copied along with streams that are
// encoded.
type Beside struct {
	File   *os.File
	Window *Window
}

// beside is such a file on its way.
type beside struct {
	*puller
	moved
	number int // of its first stream in the container
	writer *ffmpeg.Writer
	waits  *packets.Packet
}

// open adds its streams to a container, after so many others. The file's time begins
// with its first displayed frame or, without video, with its first sample, as the arrays'
// times do.
func (b Beside) open(writer *ffmpeg.Writer, number int) (*beside, error) {
	of, err := pull(b.File, b.Window)
	if err != nil {
		return nil, err
	}
	on := &beside{of, from(of.clock.Zero, of.streams), number, writer, nil}
	for i := range of.streams {
		if err := writer.Add(&of.streams[i]); err != nil {
			on.close()
			return nil, err
		}
	}
	return on, nil
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
		// The first packet beyond that time waits for the next call.
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
