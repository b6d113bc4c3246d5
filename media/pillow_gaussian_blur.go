package media

import (
	"fmt"
	"math"
	"sync"
)

// PillowGaussianBlur blurs an image as Pillow's ImageFilter.GaussianBlur does: by the
// mean of a box, three times across and three times down, which together are nearly a
// Gauss curve. The radius, its standard deviation in pixels, is drawn between two bounds.
// Beyond its edges the image goes on as its outermost pixels. An alpha channel is blurred
// like the others.
type PillowGaussianBlur struct {
	Radius [2]float64 `json:"radius"` // from 0 to MostRadius
}

// MostRadius is the greatest radius of a PillowGaussianBlur.
const MostRadius = 100

// Check refuses parameters beyond their bounds.
func (o PillowGaussianBlur) Check() error {
	for _, r := range o.Radius {
		if !(r >= 0 && r <= MostRadius) {
			return fmt.Errorf("%w: pillow_gaussian_blur with a radius of %v: must be from 0 to %d", ErrGeometry, r, MostRadius)
		}
	}
	if o.Radius[0] > o.Radius[1] {
		return fmt.Errorf("%w: pillow_gaussian_blur with a radius from %v to %v", ErrGeometry, o.Radius[0], o.Radius[1])
	}
	return nil
}

// Result tells the form after the operation.
func (o PillowGaussianBlur) Result(in Form) (Form, error) {
	return in, in.checkByteColors("pillow_gaussian_blur")
}

func (o PillowGaussianBlur) name() string { return "pillow_gaussian_blur" }

// place uses draw 0.
func (o PillowGaussianBlur) place(p *Plan, id uint64, r Rand) error {
	radius := float32(o.Radius[0])
	if o.Radius[0] < o.Radius[1] {
		// The conversion keeps the compiler from fusing operations, as in ColorJitter.
		radius = float32(o.Radius[0] + float64((o.Radius[1]-o.Radius[0])*r.Float64(id, 0)))
	}
	if p.tells() {
		p.tell(map[string]any{"radius": float64(radius)})
	}
	if radius > 0 {
		p.pass(Pass{Effect: &pillowGaussianBlur, Args: Args{radius}})
	}
	return nil
}

// boxPasses counts the times that each direction is blurred.
const boxPasses = 3

// pillowGaussianBlur has the radius as its number. All passes round to the nearest,
// halves up.
var pillowGaussianBlur = Effect{
	Name:  "pillow_gaussian_blur",
	Reach: func(a *Args) int { return boxPasses * (boxOf(a[0]).reach + 1) },
	Fixed: true,
	Extra: func(*Args) int { return 5 }, // lines of one channel, where an image is a few pixels wide
	Check: checkBytes("pillow_gaussian_blur", func(a *Args) error {
		return PillowGaussianBlur{[2]float64{float64(a[0]), float64(a[0])}}.Check()
	}),
	Apply: func(a *Args, p Pixels) Pixels {
		s := boxScratches.Get().(*boxScratch)
		s.blur(p, boxOf(a[0]))
		if cap(s.lines) <= 1<<20 { // not that of a giant
			boxScratches.Put(s)
		}
		return p
	},
}

// box is the mean of the pixels up to a distance, and of a part of those one pixel
// beyond. Both weights are of 1<<24 for all together.
type box struct {
	reach        int
	within, edge uint32
}

// boxOf returns the box that three times has the deviation of a Gauss curve (Gwosdek et
// al., Theoretical Foundations of Gaussian Convolution by Extended Box Filtering, 2011).
// Single numbers are rounded where Pillow rounds them.
func boxOf(radius float32) box {
	variance := float32(radius*radius) / boxPasses
	whole := float32(math.Floor((float64(float32(math.Sqrt(12*float64(variance)+1))) - 1) / 2))
	part := float32(2*whole+1) * float32(float32(whole*float32(whole+1))-float32(3*variance))
	part /= float32(6 * float32(variance-float32(float32(whole+1)*float32(whole+1))))
	size := float32(whole + part)
	b := box{reach: int(size), within: uint32(float32(1<<24) / float32(float32(size*2)+1))}
	b.edge = (1<<24 - uint32(2*b.reach+1)*b.within) / 2
	return b
}

// boxLines is the number of columns that are blurred side by side, so that each row of
// the image is touched once for all of them.
const boxLines = 64

// boxScratch holds lines of one channel.
type boxScratch struct{ lines []byte }

var boxScratches = sync.Pool{New: func() any { return new(boxScratch) }}

// blur changes pixels in place: across, then down.
func (s *boxScratch) blur(p Pixels, b box) {
	channels := p.Color.Channels()
	n := p.Width * channels
	if size := max(2*p.Width, (min(boxLines, n)+1)*p.Height); cap(s.lines) < size {
		s.lines = make([]byte, size)
	}
	lines := s.lines[:cap(s.lines)]
	for y := range p.Height {
		row := p.Data[y*p.Stride:][:n]
		for c := range channels {
			line, other := lines[:p.Width], lines[p.Width:2*p.Width]
			for x := range line {
				line[x] = row[x*channels+c]
			}
			for x, v := range b.thrice(line, other) {
				row[x*channels+c] = v
			}
		}
	}

	for first := 0; first < n; first += boxLines {
		columns := min(boxLines, n-first)
		for y := range p.Height {
			for k, v := range p.Data[y*p.Stride+first:][:columns] {
				lines[k*p.Height+y] = v
			}
		}
		other := lines[columns*p.Height:][:p.Height]
		for k := range columns {
			line := lines[k*p.Height:][:p.Height]
			copy(line, b.thrice(line, other))
		}
		for y := range p.Height {
			for k := range columns {
				p.Data[y*p.Stride+first+k] = lines[k*p.Height+y]
			}
		}
	}
}

// thrice blurs a line, and returns the one of both that has the result.
func (b box) thrice(line, other []byte) []byte {
	for range boxPasses {
		b.once(other, line)
		line, other = other, line
	}
	return line
}

// once blurs a line into another one.
func (b box) once(to, line []byte) {
	last := len(line) - 1
	sum := uint32(b.reach+1) * uint32(line[0]) // of the box before the line
	for x := range b.reach {
		sum += uint32(line[min(x, last)])
	}
	first, end := uint32(line[0]), uint32(line[last])
	inside := len(line) - b.reach - 1 // from here on the pixels ahead are beyond the line
	for x := range to {
		ahead, beyond := end, end
		if x < inside {
			ahead, beyond = uint32(line[x+b.reach]), uint32(line[x+b.reach+1])
		} else if x == inside {
			ahead = uint32(line[last])
		}
		behind, before := first, first
		if x > b.reach {
			behind = uint32(line[x-b.reach-1])
			before = behind
		}
		sum += ahead - behind
		to[x] = byte((sum*b.within + (before+beyond)*b.edge + 1<<23) >> 24)
	}
}
