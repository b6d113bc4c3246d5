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
func Floats(to []float32, s *ffmpeg.Sound) { floats(to, s) }

// floats is [Floats].
func floats(to []float32, s *ffmpeg.Sound) { floatsFrom(to, s, 0) }

// floatsFrom leaves out the first samples.
func floatsFrom(to []float32, s *ffmpeg.Sound, skip int) {
	switch s.Type {
	case ffmpeg.Uint8:
		spread(to, s, skip, func(v uint8) float32 { return float32(int(v)-128) / 128 })
	case ffmpeg.Int16:
		spread(to, s, skip, func(v int16) float32 { return float32(v) / (1 << 15) })
	case ffmpeg.Int32:
		spread(to, s, skip, func(v int32) float32 { return float32(v) / (1 << 31) })
	case ffmpeg.Int64:
		spread(to, s, skip, func(v int64) float32 { return float32(float64(v) / (1 << 63)) })
	case ffmpeg.Float32:
		spread(to, s, skip, func(v float32) float32 { return v })
	case ffmpeg.Float64:
		spread(to, s, skip, func(v float64) float32 { return float32(v) })
	}
}

func spread[T number](to []float32, s *ffmpeg.Sound, skip int, float func(T) float32) {
	if len(s.Planes) == 1 {
		for i, v := range numbers[T](s.Planes[0])[skip*s.Channels:][:len(to)] {
			to[i] = float(v)
		}
		return
	}
	channels := len(s.Planes)
	for c, plane := range s.Planes {
		for i, v := range numbers[T](plane)[skip:][:len(to)/channels] {
			to[i*channels+c] = float(v)
		}
	}
}

func numbers[T number](b []byte) []T {
	var one T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(one)))
}
