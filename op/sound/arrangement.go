package sound

import (
	"math"
	"unsafe"

	"github.com/headrace/headrace/internal/scratch"
	"github.com/headrace/headrace/tensor"
)

// Arrangement is samples in the order and of the type that a step asks for.
type Arrangement struct {
	N, Channels int
	Layout      string       // "T", "TC" or "CT"
	DType       tensor.DType // float32 or int16
}

// arrangementOf returns the arrangement of n samples of each channel.
func arrangementOf(args *DecodeAudio, n, channels int) Arrangement {
	return Arrangement{n, channels, args.Layout, args.Type().DType}
}

// Shape returns the shape of the samples' array.
func (a Arrangement) Shape() tensor.Shape {
	switch a.Layout {
	case "T":
		return tensor.Shape{a.N}
	case "CT":
		return tensor.Shape{a.Channels, a.N}
	}
	return tensor.Shape{a.N, a.Channels}
}

// Width returns the bytes of a sample of one channel.
func (a Arrangement) Width() int {
	if a.DType == tensor.Int16 {
		return 2
	}
	return 4
}

// Bytes returns the bytes of all samples.
func (a Arrangement) Bytes() int { return a.N * a.Channels * a.Width() }

// fill writes samples to data, which has room for them, as read gives them: the channels
// of a moment side by side. Room for what is not written in place comes from rooms.
func (a Arrangement) fill(data []byte, rooms *scratch.Pool, read func(all []float32) error) error {
	if a.DType == tensor.Float32 && a.Layout != "CT" {
		return read(floatsOf(data))
	}
	room := rooms.Take(a.N * a.Channels * 4)
	defer rooms.Give(room)
	all := floatsOf(*room)
	if err := read(all); err != nil {
		return err
	}
	a.Write(data, all)
	return nil
}

// Write converts all samples, the channels of a moment side by side, to data.
func (a Arrangement) Write(data []byte, all []float32) {
	at, step := 1, a.Channels // in what comes out, from channel to channel, and from moment to moment
	if a.Layout == "CT" {
		at, step = a.N, 1
	}
	for i := range a.N {
		for c := range a.Channels {
			v, to := all[i*a.Channels+c], i*step+c*at
			if a.DType == tensor.Int16 {
				*(*int16)(unsafe.Pointer(&data[2*to])) = int16(min(max(math.RoundToEven(float64(v)*(1<<15)), math.MinInt16), math.MaxInt16))
			} else {
				*(*float32)(unsafe.Pointer(&data[4*to])) = v
			}
		}
	}
}

func floatsOf(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}
