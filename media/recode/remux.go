package recode

import (
	"context"
	"math/big"
	"os"
	"strings"

	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/av/packets"
	"github.com/headrace/headrace/media/ffmpeg"
)

// Container says what is written.
type Container struct {
	Format  string // FFmpeg's name of it: "mp4", "matroska"
	Options string // of the container, as in "movflags=faststart"
}

// FormatOf is the format of files of a name; "" if the name does not say it.
func FormatOf(name string) (string, error) { return ffmpeg.FormatOf(name) }

// Remux copies packets of a window into another container, without decoding them, with
// the file's tags, chapters and dispositions. What is cut begins at a key frame; MP4 and
// MOV hide what comes before the window. The times of a whole file stay; those of a
// window begin with it.
func Remux(ctx context.Context, file *os.File, w *Window, filters map[string]string, out *os.File, to Container) error {
	writer, err := ffmpeg.NewWriter(out, to.Format)
	if err != nil {
		return err
	}
	defer writer.Close()
	var at moved
	var chain []*ffmpeg.Bitstream
	defer func() {
		for _, b := range chain {
			if b != nil {
				b.Close()
			}
		}
	}()

	begin := func(in *input) error {
		at = from(nil, in.streams)
		if w.Start != nil {
			at = from(new(big.Rat).Add(in.clock.Zero, w.Start), in.streams)
		}
		if chain, err = bitstreams(in.streams, filters); err != nil {
			return err
		}
		for i := range in.streams {
			if err := writer.Add(&in.streams[i]); err != nil {
				return err
			}
		}
		if err := like(writer, in, w); err != nil {
			return err
		}
		return writer.Begin(to.Options)
	}

	write := func(p *packets.Packet) error {
		if err := at.move(p); err != nil {
			return err
		}
		return writer.Write(p, at.streams[p.Stream].TimeBase)
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
	// A filter may hold packets back until it knows that there are no more.
	for i, b := range chain {
		if b != nil {
			if err := through(b, nil, i, write); err != nil {
				return err
			}
		}
	}
	return writer.Finish()
}

// like has a container get the tags and chapters of the file that is read. Packets that
// were taken out of a file have none.
func like(writer *ffmpeg.Writer, in *input, w *Window) error {
	r, ok := in.container.(*ffmpeg.Reader)
	if !ok {
		return nil
	}
	var numbers []int
	for i := range in.streams {
		numbers = append(numbers, in.streams[i].Index)
	}
	micro := av.Rational{Num: 1, Den: 1e6}
	at := [2]int64{packets.NoTime, packets.NoTime} // begin and end
	for i, edge := range []Second{w.Start, w.End} {
		if edge != nil {
			at[i] = nearest(new(big.Rat).Add(in.clock.Zero, edge), micro)
		}
	}
	return writer.Like(r, numbers, at[0], at[1])
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
