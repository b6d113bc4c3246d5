package video

import (
	"encoding/binary"
	"math"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/tensor"
)

// window tells a record when its clips begin and end.
func (v *Video) window(it *record.Record, o *opened) {
	if v.Window.Kind != record.Arrays {
		return
	}
	at := math.NaN()
	if v.at.Kind == record.Numbers {
		at, _ = v.seconds(it) // the frames were picked by it
	}
	clips := len(o.frames) / o.each
	data := *it.Values.Borrow(&v.env.Images, 16*clips)
	for i := range clips {
		begin, end := o.span(v.args, o.frames[i*o.each:][:o.each], at)
		binary.NativeEndian.PutUint64(data[16*i:], math.Float64bits(begin))
		binary.NativeEndian.PutUint64(data[16*i+8:], math.Float64bits(end))
	}
	shape := tensor.Shape{2}
	if n := v.args.Form().Clips; n != 0 {
		shape = tensor.Shape{n, 2}
	}
	it.Values.Arrays[v.Window.At] = record.Array{Shape: shape, Data: data}
}

// span is when a clip of these frames begins and ends, in seconds from the video's first
// frame: it begins where that was asked for, or, with NaN, where its first frame does. It
// lasts as long as was asked for, as many steps of fps as it has frames, or else until
// the last of its frames disappears.
func (o *opened) span(args *DecodeVideo, frames []int, at float64) (begin, end float64) {
	if args.Offset != nil {
		at = *args.Offset
	}
	line := &o.video.Table.Line
	begin = at
	for _, n := range frames {
		if n == av.Blank {
			continue
		}
		if math.IsNaN(begin) {
			begin = o.video.Seconds(n)
		}
		after := line.End
		if n+1 < line.Len() {
			after = line.Start[n+1]
		}
		// Frames may begin again, as with short="loop", so the last is not always the
		// latest.
		end = max(end, line.Seconds(after))
	}
	switch {
	case args.Duration != nil:
		end = begin + *args.Duration
	case args.FPS != nil && args.Frames != nil:
		end = begin + float64(*args.Frames) / *args.FPS
	}
	return begin, max(begin, end)
}
