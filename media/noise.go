package media

import (
	"math"
	"sync"
)

// noise is a source of numbers that look random, each a function of the seed and of its
// place, so that any part of an image can be filled by itself, and everywhere alike.
type noise uint64

// noiseBits counts those of a draw of noise, and noisesOf how many a word has.
const (
	noiseBits = 12
	noisesOf  = 4
)

// newNoise makes one of two numbers of [drawNoise].
func newNoise(high, low float32) noise { return noise(uint64(high)<<24 | uint64(low)) }

// drawNoise draws two whole numbers of 24 bits, which a float32 can have.
func drawNoise(id uint64, r Rand, draw uint32) (high, low float32) {
	return float32(below(r.Float64(id, draw), 1<<24)), float32(below(r.Float64(id, draw+1), 1<<24))
}

// word has noisesOf draws, in the lower bits of each 16.
func (n noise) word(i uint64) uint64 {
	z := uint64(n) + (i+1)*0x9e3779b97f4a7c15 // SplitMix64, by Steele, Lea and Flood
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// noiseReader gives draws of noise one after the other.
type noiseReader struct {
	noise
	at   uint64
	rest uint64
}

// next returns a draw: from 0 to 4095.
func (n *noiseReader) next() uint16 {
	if n.at%noisesOf == 0 {
		n.rest = n.word(n.at / noisesOf)
	}
	n.at++
	draw := uint16(n.rest & (1<<noiseBits - 1))
	n.rest >>= 16
	return draw
}

// normals are the middles of as many parts of a normal distribution as noise has values,
// all equally likely. They are the same on every machine, and symmetric.
var normals = sync.OnceValue(func() *[1 << noiseBits]float64 {
	const half, steps = 1 << (noiseBits - 1), 2048 // steps for a standard deviation
	all := new([1 << noiseBits]float64)
	density := 1 / math.Sqrt(2*math.Pi) / steps
	// From the middle outwards, the area under the curve is summed up step by step.
	area, i := 0.0, 0
	for k := 0; i < half; k++ {
		x := (float64(k) + 0.5) / steps
		next := area + float64(density*decay(float64(x*x)/2))
		for i < half {
			want := (float64(i) + 0.5) / (2 * half)
			if want > next {
				break
			}
			z := float64(float64(k)+float64((want-area)/(next-area))) / steps
			all[half+i], all[half-1-i] = z, -z
			i++
		}
		area = next
	}
	return all
})
