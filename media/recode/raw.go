package recode

import (
	"context"
	"fmt"
	"math/big"
	"os"

	"github.com/headrace/headrace/media/av/packets"
)

// takeRaw has put get the frames of a window of a file that is nothing but frames.
func takeRaw(ctx context.Context, file *os.File, w *Window, begin func(*input) error, put func(*packets.Packet) error) error {
	about, err := file.Stat()
	if err != nil {
		return err
	}
	all, err := w.raw.In(about.Size())
	if err == nil {
		err = all.Short
	}
	if err != nil {
		return err
	}
	s := packets.Stream{Stream: all.Stream.Stream, FrameRate: w.raw.Rate}
	if _, err := choose([]packets.Stream{s}, w.Streams); err != nil {
		return err
	}
	zero := new(big.Rat)
	clock := &Clock{Zero: zero, Begins: []Second{zero}, First: map[int]Second{}, Cut: []bool{false}}
	if err := begin(&input{format: "rawvideo", streams: []packets.Stream{s}, clock: clock}); err != nil {
		return err
	}

	first, end := int64(0), int64(all.Count)
	frame := func(t Second) int64 { return (max(ticks(t, s.TimeBase), 0) + all.Lasts - 1) / all.Lasts }
	if w.Start != nil {
		first = frame(w.Start)
	}
	if w.End != nil {
		end = min(frame(w.End), end)
	}
	data := make([]byte, all.Each) // who takes a packet copies it
	for i := first; i < end; i++ {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if n, err := file.ReadAt(data, i*all.Each); int64(n) < all.Each {
			return fmt.Errorf("recode: frame %d: %w", i, err)
		}
		if err := put(&packets.Packet{PTS: i * all.Lasts, DTS: i * all.Lasts, Duration: all.Lasts, Key: true, Data: data}); err != nil {
			return err
		}
	}
	return nil
}
