package change

import (
	"fmt"
	"math"

	"github.com/headrace/headrace/media/sound"
	"github.com/headrace/headrace/media/sound/fourier"
)

// PitchSteps says how fine pitches are: their ratios are multiples of 1/PitchSteps, which
// is within 6 hundredths of a semitone from an octave below on.
const PitchSteps = 240

// PitchRatio returns the multiple of 1/[PitchSteps] that is nearest to so many semitones.
func PitchRatio(semitones float64) int {
	return int(math.Round(PitchSteps * math.Exp2(semitones/12)))
}

// Pitch makes recordings higher or lower, and leaves them as long as they are. Any number
// of goroutines may use it.
//
// A phase vocoder stretches them: the magnitudes of its frames are those between two of
// the recording's, and phases go on as fast as they do between these. Resampling then
// makes them as long as they were.
type Pitch struct {
	ratio     int // of PitchSteps
	size, hop int // of frames
	window    []float64
	plan      *fourier.Plan
	resampler *sound.Resampler
}

// NewPitch multiplies frequencies by ratio/[PitchSteps], with frames of a size that is a
// multiple of 4.
func NewPitch(ratio, size int) (*Pitch, error) {
	if ratio < 1 || size < 4 || size%4 != 0 {
		return nil, fmt.Errorf("sound: a pitch of %d/%d by frames of %d", ratio, PitchSteps, size)
	}
	r, err := sound.NewResampler(ratio, PitchSteps)
	if err != nil {
		return nil, err
	}
	p := &Pitch{ratio: ratio, size: size, hop: size / 4, window: make([]float64, size), plan: fourier.New(size), resampler: r}
	for i := range p.window { // Hann's, periodic
		p.window[i] = 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/float64(size))
	}
	return p, nil
}

// Run fills to with a recording, which has as many samples.
func (p *Pitch) Run(to, wave []float32) {
	if p.ratio == PitchSteps || len(wave) == 0 {
		copy(to, wave)
		return
	}
	p.resampler.Run(to, p.stretched(wave))
}

// stretched returns a recording that is ratio/PitchSteps as long, of the same pitch.
func (p *Pitch) stretched(wave []float32) []float32 {
	length := int(math.RoundToEven(float64(len(wave)) * float64(p.ratio) / PitchSteps))
	frames := 1 + len(wave)/p.hop
	made := (frames*p.ratio + PitchSteps - 1) / PitchSteps

	// Frames have their middle at each hop, so the first begins before the recording.
	sums, weights := make([]float64, p.size+p.hop*made), make([]float64, p.size+p.hop*made)
	s := newSpectra(p, wave)
	phases := make([]complex128, p.size/2+1)
	z, y := make([]complex128, p.size), make([]complex128, p.size)
	for i := 0; i < made; i += 2 {
		// The real part of a transform is one frame, the imaginary part the next.
		clear(z)
		for k := i; k < min(i+2, made); k++ {
			at := k * PitchSteps
			before, after := s.at(at/p.ratio), s.at(at/p.ratio+1)
			share := float64(at%p.ratio) / float64(p.ratio)
			if k == 0 {
				copy(phases, before.phases)
			}
			p.put(z, k-i, before, after, phases, share)
		}
		out := p.plan.Run(z, y)
		for n, v := range out {
			w := p.window[n] / float64(p.size)
			sums[i*p.hop+n] += float64(real(v) * w)
			weights[i*p.hop+n] += float64(p.window[n] * p.window[n])
			if i+1 < made {
				sums[(i+1)*p.hop+n] -= float64(imag(v) * w)
				weights[(i+1)*p.hop+n] += float64(p.window[n] * p.window[n])
			}
		}
	}

	all := make([]float32, length)
	for i := range all {
		if k := i + p.size/2; k < len(sums) && weights[k] > 1e-11 {
			all[i] = float32(sums[k] / weights[k])
		}
	}
	return all
}

// put adds a frame to the numbers of which a transform makes it: as their real part, or
// its imaginary part. Numbers have the other sign of imaginary parts, for the way back.
func (p *Pitch) put(z []complex128, part int, before, after *spectrum, phases []complex128, share float64) {
	half := p.size / 2
	for k := range half + 1 {
		size := float64((1-share)*before.sizes[k]) + float64(share*after.sizes[k])
		re, im := float64(size*real(phases[k])), float64(size*imag(phases[k]))
		if k == 0 || k == half { // those of real numbers are real
			im = 0
		}
		if part == 0 {
			z[k] += complex(re, -im)
			if k > 0 && k < half {
				z[p.size-k] += complex(re, im)
			}
		} else {
			z[k] += complex(-im, -re)
			if k > 0 && k < half {
				z[p.size-k] += complex(im, -re)
			}
		}
		phases[k] = unit(times(phases[k], times(after.phases[k], conj(before.phases[k]))))
	}
}

// spectrum has the parts of a frame: their sizes, and phases as numbers of size 1.
type spectrum struct {
	frame  int
	sizes  []float64
	phases []complex128
}

// spectra makes those of a recording's frames, as they are asked for: in their order.
type spectra struct {
	p    *Pitch
	wave []float32
	held [4]spectrum
	x, y []complex128
}

func newSpectra(p *Pitch, wave []float32) *spectra {
	s := &spectra{p: p, wave: wave, x: make([]complex128, p.size), y: make([]complex128, p.size)}
	for i := range s.held {
		s.held[i] = spectrum{-1, make([]float64, p.size/2+1), make([]complex128, p.size/2+1)}
	}
	return s
}

// at returns the spectrum of a frame. The one before it stays as well.
func (s *spectra) at(frame int) *spectrum {
	held := &s.held[frame%4]
	if held.frame == frame {
		return held
	}

	// One transform makes two frames, of which the first is even: so one of a pair is
	// never made without the other, whatever was asked for.
	first := frame &^ 1
	silent := [2]bool{true, true}
	for i := range s.x {
		v, w := s.sample(first, i), s.sample(first+1, i)
		silent[0], silent[1] = silent[0] && v == 0, silent[1] && w == 0
		s.x[i] = complex(v, w)
	}
	z := s.p.plan.Run(s.x, s.y)
	n := s.p.size
	a, b := &s.held[first%4], &s.held[(first+1)%4]
	a.frame, b.frame = first, first+1
	for k := range n/2 + 1 {
		v, w := z[k], conj(z[(n-k)%n])
		d := (v - w) / 2
		a.set(k, (v+w)/2, silent[0])
		b.set(k, complex(imag(d), -real(d)), silent[1])
	}
	return held
}

// sample returns one of a frame, under the window. The recording is mirrored at its ends;
// after its last frame there is silence.
func (s *spectra) sample(frame, i int) float64 {
	n := len(s.wave)
	if frame > n/s.p.hop {
		return 0
	}
	at := frame*s.p.hop + i - s.p.size/2
	if at < 0 || at >= n {
		if n == 1 {
			at = 0
		} else {
			at = ((at % (2*n - 2)) + 2*n - 2) % (2*n - 2)
			at = min(at, 2*n-2-at)
		}
	}
	return float64(s.wave[at]) * s.p.window[i]
}

// set notes a number of the transform. A silent frame has none: it would be the
// rounding of the frame beside it.
func (s *spectrum) set(k int, v complex128, silent bool) {
	if silent {
		v = 0
	}
	s.sizes[k] = size(v)
	s.phases[k] = unit(v)
}

func size(v complex128) float64 {
	return math.Sqrt(float64(real(v)*real(v)) + float64(imag(v)*imag(v)))
}

// unit returns the number of size 1 that has the same phase; of 0 it is 1.
func unit(v complex128) complex128 {
	n := size(v)
	if !(n > 1e-150) {
		return 1
	}
	return complex(real(v)/n, imag(v)/n)
}

func conj(v complex128) complex128 { return complex(real(v), -imag(v)) }

// times multiplies. The conversions keep products from being fused with sums.
func times(a, b complex128) complex128 {
	return complex(float64(real(a)*real(b))-float64(imag(a)*imag(b)), float64(real(a)*imag(b))+float64(imag(a)*real(b)))
}
