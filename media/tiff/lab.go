//go:build cgo

package tiff

import (
	"math"
	"sync"
)

// unlabbed makes RGB, which is sRGB, of CIE L*a*b* with the white of D50, in 8 bits: L*
// is 0 to 100, a* and b* are whole numbers from -128, stored with a sign, or in ICC's
// form plus 128. Colours that sRGB lacks are cut off at 0 and 255.
//
// Pillow has Little CMS do it, which interpolates between colours it has worked out; the
// formula is CIE 15's, and the matrix that of sRGB (IEC 61966-2-1) adapted to D50 by
// Bradford's method.
func (p *pixel) unlabbed(row []byte, width int) []byte {
	rgb := p.room(3 * width)
	sign := byte(0)
	if p.labICC {
		sign = 0x80
	}
	encoded := sRGB()
	for x := range width {
		in, out := row[3*x:][:3], rgb[3*x:][:3]
		y := (float64(in[0])*100/255 + 16) / 116
		X := 0.9642 * cubed(y+float64(int8(in[1]^sign))/500)
		Z := 0.8249 * cubed(y-float64(int8(in[2]^sign))/200)
		Y := cubed(y)
		// Rounded one by one: a CPU that multiplies and adds at once would give other
		// bytes.
		for c, m := range fromD50 {
			v := float64(float64(m[0]*X)+float64(m[1]*Y)) + float64(m[2]*Z)
			out[c] = encoded[int(min(max(v, 0), 1)*linearSteps+0.5)]
		}
	}
	return rgb
}

var fromD50 = [3][3]float64{
	{3.1338561, -1.6168667, -0.4906146},
	{-0.9787684, 1.9161415, 0.0334540},
	{0.0719453, -0.2289914, 1.4052427},
}

func cubed(f float64) float64 {
	const knee = 6.0 / 29
	if f > knee {
		return f * f * f
	}
	return 3 * knee * knee * (f - 4.0/29)
}

// linearSteps are enough for every one of the 256 levels to be met at its right place,
// to less than a tenth of a level where sRGB is steepest.
const linearSteps = 1 << 15

// sRGB is the encoded value of each step of light.
var sRGB = sync.OnceValue(func() *[linearSteps + 1]byte {
	var table [linearSteps + 1]byte
	for i := range table {
		v := float64(i) / linearSteps
		if v <= 0.0031308 {
			v *= 12.92
		} else {
			v = 1.055*math.Pow(v, 1/2.4) - 0.055
		}
		table[i] = byte(v*255 + 0.5)
	}
	return &table
})
