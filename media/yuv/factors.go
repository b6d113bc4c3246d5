package yuv

import "math/bits"

// weights returns the shares of red and blue in luma, in 10000ths.
func (m Matrix) weights() (red, blue uint64, ok bool) {
	switch m {
	case BT709:
		return 2126, 722, true
	case FCC:
		return 3000, 1100, true
	case BT470, BT601:
		return 2990, 1140, true
	case SMPTE240:
		return 2120, 870, true
	case BT2020:
		return 2627, 593, true
	}
	return 0, 0, false
}

// How numbers are computed with: what becomes bytes in 32 bits, from factors and
// samples of 16; what becomes words of 16 bits in 64.
const (
	depth     = 12 // bits of samples to bytes, at most: others are rounded to that
	byteBits  = 13 // after the point of factors to bytes
	wordBits  = 22 // and to words
	byteParts = 4  // bits of what a level of a sample is divided into
	wordParts = 6
)

// Factors are what an image's samples are multiplied with, in parts of a level. A
// colour is Luma times luma and its factors times chroma, and its bias, which has the
// half that rounding needs.
type Factors struct {
	Luma, RedV, GreenU, GreenV, BlueU int64
	Red, Green, Blue                  int64 // biases
	Depth                             int   // bits of samples
	Parts                             int   // a sample counts 1<<Parts for one level
	Bits                              int   // after the point of the result
}

// factors are those of an image that Check has found well.
func (p *Picture) factors(wide bool) Factors {
	f := Factors{Depth: min(p.Bits, depth), Parts: byteParts}
	top, behind := uint64(255), byteBits
	if wide {
		f.Depth, f.Parts, top, behind = p.Bits, wordParts, 65535, wordBits
	}
	f.Bits = behind + f.Parts + f.Depth - 8

	// What luma and chroma span, and where they begin.
	one := uint64(1) << (f.Depth - 8)
	luma, chroma, black := 256*one-1, 256*one-1, uint64(0)
	if !p.Full {
		luma, chroma, black = 219*one, 224*one, 16*one
	}

	half := int64(1) << (f.Bits - 1)
	unit := top << (f.Bits - f.Parts)
	f.Luma = ratio(unit, 1, luma)
	f.Red = half - f.Luma*int64(black)<<f.Parts
	f.Green, f.Blue = f.Red, f.Red
	red, blue, ok := p.Matrix.weights()
	if p.Kind != YUV || !ok {
		return f
	}

	green := 10000 - red - blue
	f.RedV = ratio(unit, 2*(10000-red), 10000*chroma)
	f.BlueU = ratio(unit, 2*(10000-blue), 10000*chroma)
	f.GreenV = -ratio(unit, 2*(10000-red)*red, 10000*green*chroma)
	f.GreenU = -ratio(unit, 2*(10000-blue)*blue, 10000*green*chroma)
	grey := int64(128*one) << f.Parts
	f.Red -= f.RedV * grey
	f.Green -= (f.GreenU + f.GreenV) * grey
	f.Blue -= f.BlueU * grey
	return f
}

// ratio returns a·b/c, rounded.
func ratio(a, b, c uint64) int64 {
	high, low := bits.Mul64(a, b)
	low, carry := bits.Add64(low, c/2, 0)
	quotient, _ := bits.Div64(high+carry, low, c)
	return int64(quotient)
}
