package mel

import (
	"fmt"
	"math"
	"sync"

	"github.com/headrace/headrace/media/sound/fourier"
)

// Plan makes spectrograms of one spec. Any number of goroutines may use it.
type Plan struct {
	Spec
	window []float64
	bands  []band
	fft    *fourier.Plan
	rooms  sync.Pool // of *room
}

type room struct {
	x, y   []complex128
	powers [2][]float64
}

// NewPlan prepares for a spec.
func NewPlan(s Spec) (*Plan, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	p := &Plan{Spec: s, window: make([]float64, s.Window), bands: s.bands(), fft: fourier.New(s.FFT)}
	for i := range p.window {
		if s.kaldi { // Povey's: Hann's, symmetric, to the power of 0.85
			p.window[i] = math.Pow(0.5-0.5*math.Cos(2*math.Pi*float64(i)/float64(s.Window-1)), 0.85)
		} else {
			p.window[i] = 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/float64(s.Window))
		}
	}
	p.rooms.New = func() any {
		n := s.FFT
		return &room{make([]complex128, n), make([]complex128, n), [2][]float64{make([]float64, n/2+1), make([]float64, n/2+1)}}
	}
	return p, nil
}

// Run fills to with the frames of a recording from -1 to 1, the bands of one side by
// side. It must be as long as [Spec.Frames] says, times the bands.
func (p *Plan) Run(to, samples []float32) error {
	frames, err := p.Frames(len(samples))
	if err != nil {
		return err
	}
	if len(to) != frames*p.Mels {
		return fmt.Errorf("mel: there is room for %d numbers, and %d frames of %d bands come", len(to), frames, p.Mels)
	}

	r := p.rooms.Get().(*room)
	defer p.rooms.Put(r)
	for i := 0; i < frames; i += 2 {
		count := min(2, frames-i)
		p.powers(r, samples, i, count)
		for k := range count {
			row := to[(i+k)*p.Mels:][:p.Mels]
			for m, b := range p.bands {
				sum := 0.0
				for j, w := range b.weights {
					sum += float64(w * r.powers[k][b.first+j])
				}
				row[m] = p.level(sum)
			}
		}
	}
	p.finish(to)
	return nil
}

// powers finds those of one frame or of two, which are the two parts of complex numbers.
func (p *Plan) powers(r *room, samples []float32, frame, count int) {
	clear(r.x)
	p.frame(r.x, samples, frame, false)
	if count == 2 {
		p.frame(r.x, samples, frame+1, true)
	}
	x, n := p.fft.Run(r.x, r.y), p.FFT
	for k := range r.powers[0] {
		a, b := x[k], x[(n-k)%n]
		// The transform of what is real is its own mirror image: that tells them apart.
		re, im := (real(a)+real(b))/2, (imag(a)-imag(b))/2
		r.powers[0][k] = float64(re*re) + float64(im*im)
		re, im = (imag(a)+imag(b))/2, (real(b)-real(a))/2
		r.powers[1][k] = float64(re*re) + float64(im*im)
	}
}

// frame puts the samples of a frame, under the window, into one part of complex numbers.
func (p *Plan) frame(x []complex128, samples []float32, frame int, imaginary bool) {
	at := frame * p.Hop
	if p.kaldi {
		p.emphasized(x, samples[at:][:p.Window], imaginary)
		return
	}
	pad := (p.FFT - p.Window) / 2
	if p.Edges != None {
		at += pad - p.FFT/2
		x = x[pad:]
	}
	for i, w := range p.window {
		set(&x[i], w*p.sample(samples, at+i), imaginary)
	}
}

// sample is one of the recording, or of what goes on beyond its ends.
func (p *Plan) sample(samples []float32, at int) float64 {
	if at < 0 || at >= len(samples) {
		if p.Edges == Zero {
			return 0
		}
		if at = max(at, -at); at >= len(samples) {
			at = 2*(len(samples)-1) - at
		}
	}
	return float64(samples[at])
}

// Kaldi's samples are those of 16 bits.
const (
	kaldiScale    = 1 << 15
	kaldiEmphasis = 0.97
)

func (p *Plan) emphasized(x []complex128, samples []float32, imaginary bool) {
	mean := 0.0
	for _, v := range samples {
		mean += float64(v)
	}
	mean /= float64(len(samples))
	before := float64(samples[0]) - mean
	for i, v := range samples {
		now := float64(v) - mean
		set(&x[i], kaldiScale*p.window[i]*(now-float64(kaldiEmphasis*before)), imaginary)
		before = now
	}
}

func set(to *complex128, v float64, imaginary bool) {
	if imaginary {
		*to = complex(real(*to), v)
	} else {
		*to = complex(v, 0)
	}
}

// The least powers that there are logarithms of.
const (
	least      = 1e-10
	leastKaldi = 0x1p-23 // the epsilon of float32
)

func (p *Plan) level(power float64) float32 {
	switch p.Level {
	case Ln:
		return float32(math.Log(max(power, leastKaldi)))
	case Whisper:
		return float32(math.Log10(max(power, least)))
	}
	return float32(10 * math.Log10(max(power, least)))
}

// finish does what needs the loudest band.
func (p *Plan) finish(to []float32) {
	below := float32(80)
	if p.Level == Whisper {
		below = 8
	} else if p.Level != Range {
		return
	}
	loudest := float32(math.Inf(-1))
	for _, v := range to {
		loudest = max(loudest, v)
	}
	for i, v := range to {
		v = max(v, loudest-below)
		if p.Level == Whisper {
			v = (v + 4) / 4
		}
		to[i] = v
	}
}
