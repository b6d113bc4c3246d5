package recode

import (
	"context"
	"math/big"
	"os"
	"strings"

	"headrace/media/av"
	"headrace/media/av/packets"
	"headrace/media/ffmpeg"
)

// Container says what is written.
type Container struct {
	Format  string // FFmpeg's name of it: "mp4", "matroska"
	Options string // of the container, as in "movflags=faststart"
}

// FormatOf is the format of files of a name; "" if the name does not say it.
func FormatOf(name string) (string, error) { return ffmpeg.FormatOf(name) }

// Remux copies packets of a window into another container, without decoding them. What is
// cut begins at a key frame; MP4 and MOV hide what comes before the window. The times of
// a whole file stay; those of a window begin with it.
func Remux(ctx context.Context, file *os.File, w *Window, filters map[string]string, out *os.File, to Container) error {
	writer, err := ffmpeg.NewWriter(out, to.Format)
	if err != nil {
		return err
	}
	defer writer.Close()
	var streams []packets.Stream
	var chain []*ffmpeg.Bitstream
	defer func() {
		for _, b := range chain {
			if b != nil {
				b.Close()
			}
		}
	}()
	var earlier []int64 // by how much times are, in ticks of each stream

	begin := func(_ string, all []packets.Stream, c *Clock) error {
		streams, earlier = all, make([]int64, len(all))
		if w.Start != nil {
			zero := new(big.Rat).Add(c.Zero, w.Start)
			for i := range streams {
				earlier[i] = nearest(zero, streams[i].TimeBase)
			}
		}
		if chain, err = bitstreams(streams, filters); err != nil {
			return err
		}
		for i := range streams {
			if err := writer.Add(&streams[i]); err != nil {
				return err
			}
		}
		return writer.Begin(to.Options)
	}
	write := func(p *packets.Packet) error {
		p.Discard = false
		for _, t := range []*int64{&p.PTS, &p.DTS} {
			if *t != packets.NoTime {
				*t -= earlier[p.Stream]
			}
		}
		return writer.Write(p, streams[p.Stream].TimeBase)
	}
	put := func(p *packets.Packet) error {
		if b := chain[p.Stream]; b != nil {
			return through(b, p, p.Stream, write)
		}
		return write(p)
	}
	if err := read(ctx, file, w, begin, put); err != nil {
		return err
	}
	for i, b := range chain {
		if b != nil {
			if err := through(b, nil, i, write); err != nil {
				return err
			}
		}
	}
	return writer.Finish()
}

func nearest(t Second, base av.Rational) int64 {
	half := big.NewRat(int64(base.Num), 2*int64(base.Den))
	return ticks(half.Sub(t, half), base)
}

// Options writes options as FFmpeg reads them.
func Options(pairs map[string]string, order []string) string {
	quote := strings.NewReplacer(`\`, `\\`, `'`, `\'`, `:`, `\:`, `=`, `\=`)
	text := ""
	for _, name := range order {
		if text != "" {
			text += ":"
		}
		text += quote.Replace(name) + "=" + quote.Replace(pairs[name])
	}
	return text
}
