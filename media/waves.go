package media

import (
	"math"
	"sync"
)

// Waves move points by smooth random distances: noise, evenly between -1 and 1 for each
// pixel, that is blurred with a Gauss curve. Its zero value moves nothing.
type Waves struct {
	Seed  uint64
	Sigma [2]float64 // of the curve, across and down, in pixels; 0: no blur
	X, Y  float64    // how many pixels 1/32768 is, across and down
}

// On reports whether they move anything.
func (w *Waves) On() bool { return w.X != 0 || w.Y != 0 }

// WaveTaps returns the weights of a blur of waves by the distance in pixels, 1<<15
// together at both sides. There are none for no blur.
func WaveTaps(sigma float64) []int16 {
	if !(sigma > 0) {
		return nil
	}
	reach := int(8*sigma+1) / 2 // torchvision's size is int(8·sigma + 1), and one more if that is even
	curve := make([]float64, reach+1)
	sum := 0.0
	for i := range curve {
		x := float64(i) / sigma
		curve[i] = decay(float64(x*x) / 2)
		sum += 2 * curve[i]
	}
	sum -= curve[0]

	taps := make([]int16, reach+1)
	left := 1 << 15
	for i := 1; i <= reach; i++ {
		taps[i] = int16(math.RoundToEven(float64(curve[i] / sum * (1 << 15))))
		left -= 2 * int(taps[i])
	}
	if left > math.MaxInt16 {
		return nil // so narrow that nothing is mixed
	}
	taps[0] = int16(left)
	for len(taps) > 1 && taps[len(taps)-1] == 0 {
		taps = taps[:len(taps)-1]
	}
	return taps
}

// noise returns that of a pixel: across in the lower half and down in the upper.
func (w *Waves) noise(i uint32) uint32 {
	v := i ^ uint32(w.Seed)
	v = (v ^ v>>16) * 0x7feb352d
	v += uint32(w.Seed >> 32)
	v = (v ^ v>>15) * 0x846ca68b
	return v ^ v>>16
}

// Fill makes field, which has two numbers for each pixel of a size: how far that is
// moved across and down, in 1/32768. Rows are rounded to that before columns are
// blurred. between has room for as many.
func (w *Waves) Fill(field, between []int16, of Size) {
	across, down := WaveTaps(w.Sigma[0]), WaveTaps(w.Sigma[1])
	row := make([]int16, 2*of.Width)
	for y := range of.Height {
		for x := range of.Width {
			v := w.noise(uint32(y*of.Width + x))
			row[2*x], row[2*x+1] = int16(v), int16(v>>16)
		}
		to := between[2*y*of.Width:][:2*of.Width]
		if across == nil {
			copy(to, row)
			continue
		}
		for x := range of.Width {
			for c := range 2 {
				to[2*x+c] = mixed(across, func(k int) int16 { return row[2*mirrored(x+k, of.Width)+c] })
			}
		}
	}

	// The columns, of rounded rows.
	if down == nil {
		copy(field, between)
		return
	}
	for y := range of.Height {
		for i := range 2 * of.Width {
			field[2*y*of.Width+i] = mixed(down, func(k int) int16 { return between[2*mirrored(y+k, of.Height)*of.Width+i] })
		}
	}
}

// mixed is a number and those around it by their weights, rounded to the nearest, halves
// up.
func mixed(taps []int16, at func(k int) int16) int16 {
	sum := int32(taps[0])*int32(at(0)) + 1<<14
	for k := 1; k < len(taps); k++ {
		sum += int32(taps[k]) * (int32(at(-k)) + int32(at(k)))
	}
	return int16(sum >> 15)
}

// at returns the numbers that Fill makes for one pixel.
func (w *Waves) at(of Size, x, y int) (moved [2]int16) {
	across, down := WaveTaps(w.Sigma[0]), WaveTaps(w.Sigma[1])
	for c := range moved {
		noise := func(x, y int) int16 { return int16(w.noise(uint32(y*of.Width+x)) >> (16 * c)) }
		row := func(k int) int16 {
			y := mirrored(y+k, of.Height)
			if across == nil {
				return noise(x, y)
			}
			return mixed(across, func(k int) int16 { return noise(mirrored(x+k, of.Width), y) })
		}
		if moved[c] = row(0); down != nil {
			moved[c] = mixed(down, row)
		}
	}
	return moved
}

// waveMemory has fields of waves, and the rows between their passes.
var waveMemory = sync.Pool{New: func() any { return new([2][]int16) }}

// waves gives those of a warp for a result of a size to use; nil if it has none.
func (w *Warp) waves(to Size, use func(field []int16)) {
	if !w.Waves.On() {
		use(nil)
		return
	}
	m := waveMemory.Get().(*[2][]int16)
	defer waveMemory.Put(m)
	for i := range m {
		if n := 2 * to.Width * to.Height; cap(m[i]) < n {
			m[i] = make([]int16, n)
		} else {
			m[i] = m[i][:n]
		}
	}
	w.Waves.Fill(m[0], m[1], to)
	use(m[0])
}
