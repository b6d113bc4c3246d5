package media

import (
	"fmt"
	"math"
	"slices"
	"sync"
)

// GaussianBlur blurs an image with a Gauss curve, whose standard deviation in pixels is
// drawn between two bounds. The kernel is a square of KernelSize pixels each way; beyond
// its edges the image is mirrored. An alpha channel is blurred like the others.
type GaussianBlur struct {
	KernelSize int        `json:"kernel_size"` // odd, and at most 127
	Sigma      [2]float64 `json:"sigma"`
}

// Check refuses parameters beyond their bounds.
func (o GaussianBlur) Check() error {
	if err := checkKernel(o.KernelSize); err != nil {
		return err
	}
	for _, s := range o.Sigma {
		if err := checkSigma(s); err != nil {
			return err
		}
	}
	if o.Sigma[0] > o.Sigma[1] {
		return fmt.Errorf("%w: gaussian_blur with a sigma from %v to %v", ErrGeometry, o.Sigma[0], o.Sigma[1])
	}
	return nil
}

// Result tells the form after the operation.
func (o GaussianBlur) Result(in Form) (Form, error) { return in, in.checkByteColors("gaussian_blur") }

func (o GaussianBlur) name() string { return "gaussian_blur" }

// place uses draw 0.
func (o GaussianBlur) place(p *Plan, id uint64, r Rand) error {
	sigma := float32(o.Sigma[0])
	if o.Sigma[0] < o.Sigma[1] {
		// The conversion keeps the compiler from fusing operations, as in ColorJitter.
		sigma = float32(o.Sigma[0] + float64((o.Sigma[1]-o.Sigma[0])*r.Float64(id, 0)))
	}
	if p.tells() {
		p.tell(map[string]any{"sigma": float64(sigma)})
	}
	p.pass(Pass{Effect: &gaussianBlur, Args: Args{float32(o.KernelSize), sigma}})
	return nil
}

func checkKernel(size int) error {
	if size < 1 || size > mostBlur || size%2 == 0 {
		return fmt.Errorf("%w: gaussian_blur with a kernel of %d pixels: must be odd, and from 1 to %d",
			ErrGeometry, size, mostBlur)
	}
	return nil
}

func checkSigma(sigma float64) error {
	// Of less than the least float32 nothing would be left.
	if !(sigma >= math.SmallestNonzeroFloat32 && sigma <= math.MaxFloat32) {
		return fmt.Errorf("%w: gaussian_blur with a sigma of %v: must be above 0", ErrGeometry, sigma)
	}
	return nil
}

// gaussianBlur has the kernel's size and sigma as its numbers. Across comes before down,
// and rows are rounded in between: so an image that is turned first has other pixels.
var gaussianBlur = Effect{
	Name:  "gaussian_blur",
	Reach: func(a *Args) int { return int(a[0]) / 2 },
	Fixed: true,
	Extra: func(*Args) int { return 8 }, // at most as many rows as there are, of 16 bits
	Taps:  func(a *Args) (Taps, int) { return blurTaps(int(a[0]), a[1]) },
	Check: checkBytes("gaussian_blur", func(a *Args) error {
		if a[0] != float32(int(a[0])) {
			return fmt.Errorf("%w: gaussian_blur with a kernel of %v pixels", ErrGeometry, a[0])
		}
		if err := checkKernel(int(a[0])); err != nil {
			return err
		}
		return checkSigma(float64(a[1]))
	}),
	Apply: func(a *Args, p Pixels) Pixels {
		if w, reach := blurTaps(int(a[0]), a[1]); reach > 0 {
			s := blurScratches.Get().(*blurScratch)
			s.blur(p, &w, reach)
			s.giveBack()
		}
		return p
	},
}

// mostBlur is the greatest size of a kernel. With so many weights the sum of what
// rounding does to them still is below a level.
const mostBlur = 127

// blurBits counts those of the fractions of weights, which fit 16 bits with their sign,
// as products of pairs in one instruction of x86 need.
const blurBits = 14

// betweenBits counts the bits of the fractions of rows between the passes: two of their
// values together still fit 16 bits with their sign.
const betweenBits = 6

// blurScratch holds rows between the passes and sums, for one image after the other.
type blurScratch struct {
	rows []int16
	sums []int32
}

var blurScratches = sync.Pool{New: func() any { return new(blurScratch) }}

// giveBack keeps memory for the next image, but not that of a giant.
func (s *blurScratch) giveBack() {
	if cap(s.rows) <= 1<<20 {
		blurScratches.Put(s)
	}
}

// blur changes pixels in place: across, then down. Beyond its edges an image is mirrored;
// one that is too small for that, as often as need be. Both passes round to the nearest,
// halves up.
func (s *blurScratch) blur(p Pixels, w *Taps, reach int) {
	channels := p.Color.Channels()
	n, edge, held := p.Width*channels, reach*channels, min(p.Height, 2*reach+1)
	s.rows = slices.Grow(s.rows[:0], held*n+n+2*edge)
	s.sums = slices.Grow(s.sums[:0], n)
	ring, wide, sums := s.rows[:held*n], s.rows[held*n:cap(s.rows)], s.sums[:n]
	row := func(y int) []int16 { return ring[y%held*n:][:n] }
	next := 0
	for y := range p.Height {
		for ; next <= min(y+reach, p.Height-1); next++ {
			widen(wide, p.Data[next*p.Stride:][:n], p.Width, channels, reach)
			beginSums(sums, wide[edge:], int32(w[0]), 1<<(blurBits-betweenBits-1))
			for k := 1; k <= reach; k++ {
				addTo(sums, wide[edge-k*channels:], wide[edge+k*channels:], int32(w[k]))
			}
			for i, to := 0, row(next); i < n; i++ {
				to[i] = int16(sums[i] >> (blurBits - betweenBits))
			}
		}
		beginSums(sums, row(y), int32(w[0]), 1<<(blurBits+betweenBits-1))
		for k := 1; k <= reach; k++ {
			addTo(sums, row(mirrored(y-k, p.Height)), row(mirrored(y+k, p.Height)), int32(w[k]))
		}
		for i, to := 0, p.Data[y*p.Stride:][:n]; i < n; i++ {
			to[i] = byte(sums[i] >> (blurBits + betweenBits))
		}
	}
}

// widen gives a row the pixels beyond both edges.
func widen(to []int16, row []byte, width, channels, reach int) {
	for i, v := range row {
		to[reach*channels+i] = int16(v)
	}
	for k := 1; k <= reach; k++ {
		left, right := to[(reach-k)*channels:], to[(reach+width-1+k)*channels:]
		from, from2 := mirrored(-k, width)*channels, mirrored(width-1+k, width)*channels
		for c := range channels {
			left[c], right[c] = int16(row[from+c]), int16(row[from2+c])
		}
	}
}

// beginSums makes sums of one value, and of the half that rounds them.
func beginSums(sums []int32, a []int16, weight, half int32) {
	a = a[:len(sums)]
	for i := range sums {
		sums[i] = half + weight*int32(a[i])
	}
}

func addTo(sums []int32, a, b []int16, weight int32) {
	a, b = a[:len(sums)], b[:len(sums)]
	for i := range sums {
		sums[i] += weight * (int32(a[i]) + int32(b[i]))
	}
}

// blurTaps returns the weights of a kernel of an odd size up to mostBlur, 1<<blurBits all
// together at both sides. A narrow Gauss curve has fewer than the size allows.
func blurTaps(size int, sigma float32) (w Taps, reach int) {
	var curve [len(w)]float64
	sum := 1.0
	for i := 1; i <= size/2; i++ {
		x := float64(i) / float64(sigma)
		curve[i] = decay(float64(x*x) / 2)
		sum += 2 * curve[i]
	}
	// From the edge, carrying on the remainder of each rounding: so the middle gets no
	// more of it than others.
	taken, so := 0, 0.0
	for i := size / 2; i > 0; i-- {
		so += float64(curve[i] / sum * (1 << blurBits))
		n := int(math.RoundToEven(so)) - taken
		if n > 0 {
			reach = max(reach, i)
		}
		w[i] = int16(n)
		taken += n
	}
	w[0] = int16(1<<blurBits - 2*taken)
	return w, reach
}
