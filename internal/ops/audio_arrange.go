package ops

import (
	"math"
	"unsafe"

	"headrace/internal/scratch"
	"headrace/recipe"
	"headrace/tensor"
)

// arrangement is samples in the order and of the type that arguments ask for.
type arrangement struct {
	args        *recipe.DecodeAudio
	n, channels int
}

// Shape is that of the samples.
func (a arrangement) Shape() tensor.Shape {
	switch a.args.Layout {
	case "T":
		return tensor.Shape{a.n}
	case "CT":
		return tensor.Shape{a.channels, a.n}
	}
	return tensor.Shape{a.n, a.channels}
}

// Width is how many bytes a sample of one channel takes.
func (a arrangement) Width() int {
	if a.args.DType == "int16" {
		return 2
	}
	return 4
}

// Bytes is how many all samples take.
func (a arrangement) Bytes() int { return a.n * a.channels * a.Width() }

// fill writes samples to data, which has room for them, as read gives them: the channels
// of a moment side by side. Room for what is not written in place comes from rooms.
func (a arrangement) fill(data []byte, rooms *scratch.Pool, read func(all []float32) error) error {
	if a.args.DType == "float32" && a.args.Layout != "CT" {
		return read(floatsOf(data))
	}
	room := rooms.Take(a.n * a.channels * 4)
	defer rooms.Give(room)
	all := floatsOf(*room)
	if err := read(all); err != nil {
		return err
	}
	a.convert(data, all)
	return nil
}

func (a arrangement) convert(data []byte, all []float32) {
	at, step := 1, a.channels // in what comes out, from channel to channel, and from moment to moment
	if a.args.Layout == "CT" {
		at, step = a.n, 1
	}
	for i := range a.n {
		for c := range a.channels {
			v, to := all[i*a.channels+c], i*step+c*at
			if a.args.DType == "int16" {
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
