package coded

import (
	"unsafe"

	"headrace/media/ffmpeg"
)

// number is what samples can be.
type number interface {
	uint8 | int16 | int32 | int64 | float32 | float64
}

// Floats writes the samples of a frame as float32 from -1 to 1, those of all channels at
// one time side by side. To has room for them.
func Floats(to []float32, s *ffmpeg.Sound) {
	switch s.Type {
	case ffmpeg.Uint8:
		spread[uint8](to, s, 1.0/(1<<7))
		for i := range to {
			to[i]--
		}
	case ffmpeg.Int16:
		spread[int16](to, s, 1.0/(1<<15))
	case ffmpeg.Int32:
		spread[int32](to, s, 1.0/(1<<31))
	case ffmpeg.Int64:
		spread[int64](to, s, 1.0/(1<<63))
	case ffmpeg.Float32:
		spread[float32](to, s, 1)
	case ffmpeg.Float64:
		spread[float64](to, s, 1)
	}
}

// spread multiplies by a power of two, which is exact.
func spread[T number](to []float32, s *ffmpeg.Sound, scale float32) {
	switch len(s.Planes) {
	case 1:
		for i, v := range numbers[T](s.Planes[0])[:len(to)] {
			to[i] = float32(v) * scale
		}
	case 2: // is most of what is coded
		n := len(to) / 2
		left, right := numbers[T](s.Planes[0])[:n], numbers[T](s.Planes[1])[:n]
		for i, v := range left {
			pair := to[2*i:][:2]
			pair[0], pair[1] = float32(v)*scale, float32(right[i])*scale
		}
	default:
		channels := len(s.Planes)
		for c, plane := range s.Planes {
			for i, v := range numbers[T](plane)[:len(to)/channels] {
				to[i*channels+c] = float32(v) * scale
			}
		}
	}
}

func numbers[T number](b []byte) []T {
	var one T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(one)))
}
