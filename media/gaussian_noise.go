package media

import (
	"fmt"
	"math"
)

// GaussianNoise adds a normal number to every value but alpha, of which 1 is the whole
// range. The sum stays within the range.
type GaussianNoise struct {
	Mean  float64 `json:"mean"`
	Sigma float64 `json:"sigma"` // at least 0
}

// Check refuses parameters beyond their bounds.
func (o GaussianNoise) Check() error {
	if !(o.Mean >= -1 && o.Mean <= 1) {
		return fmt.Errorf("%w: gaussian_noise with a mean of %v: must be from -1 to 1", ErrGeometry, o.Mean)
	}
	if !(o.Sigma >= 0 && o.Sigma <= 1) {
		return fmt.Errorf("%w: gaussian_noise with a sigma of %v: must be from 0 to 1", ErrGeometry, o.Sigma)
	}
	return nil
}

// Result tells the form after the operation.
func (o GaussianNoise) Result(in Form) (Form, error) { return in, in.checkByteColors("gaussian_noise") }

func (o GaussianNoise) name() string { return "gaussian_noise" }

// place uses draws 0 and 1.
func (o GaussianNoise) place(p *Plan, id uint64, r Rand) error {
	high, low := drawNoise(id, r, 0)
	if p.tells() {
		p.tell(map[string]any{"noise": int(newNoise(high, low))})
	}
	if o.Mean != 0 || o.Sigma != 0 {
		p.pass(Pass{Effect: &gaussianNoise, Args: Args{float32(o.Mean), float32(o.Sigma), high, low}})
	}
	return nil
}

// gaussianNoise has the mean, the deviation and the seed as its numbers. Draws are those
// of values one after the other, row by row.
var gaussianNoise = Effect{
	Name:  "gaussian_noise",
	Fixed: true,
	Check: checkBytes("gaussian_noise", func(a *Args) error {
		if !(a[2] >= 0 && a[2] < 1<<24 && a[3] >= 0 && a[3] < 1<<24) {
			return fmt.Errorf("%w: gaussian_noise with the seed %v, %v", ErrGeometry, a[2], a[3])
		}
		return GaussianNoise{float64(a[0]), float64(a[1])}.Check()
	}),
	Apply: func(a *Args, p Pixels) Pixels {
		levels, draws := a.NoiseLevels(), noiseReader{noise: newNoise(a[2], a[3])}
		n, colors := p.Color.Channels(), p.colors()
		for y := range p.Height {
			for row := p.Row(y); len(row) > 0; row = row[n:] {
				for c := range colors {
					row[c] = uint8(min(max(int(row[c])+int(levels[draws.next()]), 0), 255))
				}
			}
		}
		return p
	},
}

// NoiseLevels returns the levels that a pass of gaussian_noise adds for each draw, and
// NoiseSeed the seed of its draws: for kernels.
func (a *Args) NoiseLevels() (levels [1 << noiseBits]int16) {
	mean, sigma := float64(a[0]), float64(a[1])
	for i, z := range normals() {
		levels[i] = int16(math.RoundToEven(float64(255 * (mean + float64(sigma*z)))))
	}
	return levels
}

// NoiseSeed is that of a pass of gaussian_noise.
func (a *Args) NoiseSeed() uint64 { return uint64(newNoise(a[2], a[3])) }
