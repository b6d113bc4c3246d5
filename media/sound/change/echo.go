package change

import (
	"math"
	"math/bits"

	"github.com/headrace/headrace/media/sound/fourier"
)

// Echo has recordings heard as in a room, by its response to an impulse. One goroutine
// at a time may use it.
type Echo struct {
	impulse  []float32
	peak     int     // of the impulse: where the direct sound is
	scale    float64 // which gives it an energy of 1
	plan     *fourier.Plan
	spectrum []complex128
	x, y     []complex128
}

// NewEcho prepares for recordings of up to so many samples.
func NewEcho(impulse []float32, longest int) *Echo {
	e := &Echo{impulse: impulse}
	for i, v := range impulse {
		if math.Abs(float64(v)) > math.Abs(float64(impulse[e.peak])) {
			e.peak = i
		}
	}
	all := energy(impulse)
	if all == 0 || longest == 0 {
		return e
	}
	e.scale = 1 / math.Sqrt(all)

	// A transform costs least for each sample if it is some times as long as the impulse.
	n := min(max(powerOfTwo(4*len(impulse)), 1024), powerOfTwo(longest+len(impulse)))
	e.plan, e.x, e.y = fourier.New(n), make([]complex128, n), make([]complex128, n)
	for i, v := range impulse {
		e.x[i] = complex(float64(v)*e.scale, 0)
	}
	e.spectrum = append(e.spectrum, e.plan.Run(e.x, e.y)...)
	return e
}

// powerOfTwo returns the least that is not below n.
func powerOfTwo(n int) int { return 1 << bits.Len(uint(n-1)) }

// Run fills to with a recording, which has as many samples: from the direct sound on, so
// that words stay at their times. A silent impulse changes nothing.
func (e *Echo) Run(to, wave []float32) {
	if e.scale == 0 {
		copy(to, wave)
		return
	}
	sums := make([]float64, len(wave))
	size := len(e.x) - len(e.impulse) + 1 // of a block: with its echo it fills a transform
	for at := 0; at < len(wave); at += 2 * size {
		e.blocks(sums, wave, at, size)
	}
	for i, v := range sums {
		to[i] = float32(v)
	}
}

// blocks adds two blocks of the recording and their echoes. A transform of complex
// numbers does both at once, as an impulse is real.
func (e *Echo) blocks(sums []float64, wave []float32, at, size int) {
	first := wave[at:min(at+size, len(wave))]
	second := wave[at+len(first) : min(at+2*size, len(wave))]
	for i := range e.x {
		var a, b float64
		if i < len(first) {
			a = float64(first[i])
		}
		if i < len(second) {
			b = float64(second[i])
		}
		e.x[i] = complex(a, b)
	}

	// The way back is the way there, with imaginary parts of the other sign.
	made := e.plan.Run(e.x, e.y)
	for i, v := range made {
		w := e.spectrum[i]
		made[i] = complex(float64(real(v)*real(w))-float64(imag(v)*imag(w)), -float64(real(v)*imag(w))-float64(imag(v)*real(w)))
	}
	other := e.y
	if &made[0] == &e.y[0] {
		other = e.x
	}
	scale := 1 / float64(len(e.x))
	for i, v := range e.plan.Run(made, other) {
		if k := at + i - e.peak; k >= 0 && k < len(sums) {
			sums[k] += float64(real(v) * scale)
		}
		if k := at + size + i - e.peak; k >= 0 && k < len(sums) {
			sums[k] -= float64(imag(v) * scale)
		}
	}
}
