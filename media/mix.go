package media

import "encoding/binary"

// Mixer is a [Runner] that mixes images.
type Mixer interface {
	Runner
	MixBytes(to, a, b []byte, w int)
	MixFloats(to, a, b []float32, w int)
}

// MixBytes writes the mean of two rows of bytes, of which the first counts w of 256 and
// the second the rest, rounded to the nearest, halves up. Their memory is not to's.
func MixBytes(to, a, b []byte, w int) { mixer().MixBytes(to, a, b, w) }

// MixFloats is MixBytes for numbers of single precision.
func MixFloats(to, a, b []float32, w int) { mixer().MixFloats(to, a, b, w) }

func mixer() Mixer {
	if m, ok := CurrentRunner().(Mixer); ok {
		return m
	}
	return GoRunner{}
}

// MixBytes implements [Mixer].
func (GoRunner) MixBytes(to, a, b []byte, w int) {
	const even = 0x00ff00ff00ff00ff // of eight bytes every second, with room for a product
	const half = 0x0080008000800080
	wa, wb := uint64(w), uint64(256-w)
	n := len(to) &^ 7
	for i := 0; i < n; i += 8 {
		x, y := binary.LittleEndian.Uint64(a[i:]), binary.LittleEndian.Uint64(b[i:])
		low := (x&even)*wa + (y&even)*wb + half
		high := (x>>8&even)*wa + (y>>8&even)*wb + half
		binary.LittleEndian.PutUint64(to[i:], low>>8&even|high&^even)
	}
	for i := n; i < len(to); i++ {
		to[i] = byte((int(a[i])*w + int(b[i])*(256-w) + 128) >> 8)
	}
}

// MixFloats implements [Mixer].
func (GoRunner) MixFloats(to, a, b []float32, w int) {
	of, rest := float32(w)/256, float32(256-w)/256
	b = b[:len(a)]
	for i, v := range a {
		to[i] = float32(v*of) + float32(b[i]*rest)
	}
}
