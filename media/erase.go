package media

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync"

	"github.com/headrace/headrace/tensor"
)

// Paint is the colour of erased pixels, or says that they get random values.
type Paint struct {
	Color [4]uint16 `json:"color,omitzero"` // by channel; alpha stays
	// Noise says that every value is drawn by itself. That is normally distributed with
	// the mean and the deviation of ImageNet's images, so that it is a standard normal
	// number once these are normalized.
	Noise bool `json:"noise,omitzero"`
}

// RandomErasing erases a rectangle with probability P, of random area and proportions. Up
// to ten times it draws an area between the bounds of Scale, as a share of the image's,
// and a ratio of height to width, evenly distributed in its logarithm between the bounds
// of Ratio; the first rectangle that is lower and narrower than the image is taken, at a
// random place. If none is, the image stays.
type RandomErasing struct {
	P     float64    `json:"p"`
	Scale [2]float64 `json:"scale"`
	Ratio [2]float64 `json:"ratio"`
	Paint Paint      `json:"paint,omitzero"`
}

// Check refuses parameters beyond their bounds.
func (o RandomErasing) Check() error {
	if !(o.Scale[0] >= 0 && o.Scale[0] <= o.Scale[1] && o.Scale[1] <= 1) {
		return fmt.Errorf("%w: random_erasing: scale %v must be two rising shares in [0,1]", ErrGeometry, o.Scale)
	}
	if !(o.Ratio[0] >= 1e-3 && o.Ratio[0] <= o.Ratio[1] && o.Ratio[1] <= 1e3) {
		return fmt.Errorf("%w: random_erasing: ratio %v must be two rising numbers in [0.001,1000]", ErrGeometry, o.Ratio)
	}
	return checkChance("random_erasing", o.P)
}

// Result tells the form after the operation.
func (o RandomErasing) Result(in Form) (Form, error) { return in, o.Paint.check("random_erasing", in) }

func (o RandomErasing) name() string { return "random_erasing" }

// place uses draw 0 for whether, 1 to 20 for the tries, 21 and 22 for the place, 23 and
// 24 for noise.
func (o RandomErasing) place(p *Plan, id uint64, r Rand) error {
	hole, erases := Rect{}, r.Float64(id, 0) < o.P
	if erases {
		hole, erases = o.draw(p.Width, p.Height, id, r)
	}
	p.erase(hole, erases, o.Paint, id, r)
	return nil
}

// draw chooses the rectangle.
func (o RandomErasing) draw(width, height int, id uint64, r Rand) (Rect, bool) {
	area := float64(width * height)
	for t := range uint32(tries) {
		share := o.Scale[0] + float64((o.Scale[1]-o.Scale[0])*r.Float64(id, 1+2*t))
		ratio := between(o.Ratio[0], o.Ratio[1], r.Float64(id, 2+2*t))
		target := float64(area * share)
		h := int(math.RoundToEven(math.Sqrt(float64(target * ratio))))
		w := int(math.RoundToEven(math.Sqrt(target / ratio)))
		if w < width && h < height {
			y := below(r.Float64(id, 2*tries+1), height-h+1)
			x := below(r.Float64(id, 2*tries+2), width-w+1)
			return Rect{x, y, w, h}, true
		}
	}
	return Rect{}, false
}

// Cutout erases a square of so many pixels with probability P, whose middle is anywhere
// in the image: what reaches beyond an edge is lost.
type Cutout struct {
	Size  int     `json:"size"` // of a side
	P     float64 `json:"p"`
	Paint Paint   `json:"paint,omitzero"`
}

// Check refuses parameters beyond their bounds.
func (o Cutout) Check() error {
	if o.Size < 1 || o.Size > MaxPixels {
		return fmt.Errorf("%w: cutout of %d pixels: must be at least 1", ErrGeometry, o.Size)
	}
	return checkChance("cutout", o.P)
}

// Result tells the form after the operation.
func (o Cutout) Result(in Form) (Form, error) { return in, o.Paint.check("cutout", in) }

func (o Cutout) name() string { return "cutout" }

// place uses draw 0 for whether, 1 and 2 for the place, 23 and 24 for noise.
func (o Cutout) place(p *Plan, id uint64, r Rand) error {
	y := below(r.Float64(id, 1), p.Height) - o.Size/2
	x := below(r.Float64(id, 2), p.Width) - o.Size/2
	x1, y1 := min(x+o.Size, p.Width), min(y+o.Size, p.Height)
	x, y = max(x, 0), max(y, 0)
	p.erase(Rect{x, y, x1 - x, y1 - y}, r.Float64(id, 0) < o.P, o.Paint, id, r)
	return nil
}

// erase erases a rectangle, or nothing, and tells it. Noise uses draws 23 and 24.
func (p *Plan) erase(hole Rect, erases bool, paint Paint, id uint64, r Rand) {
	var told map[string]any
	if p.tells() {
		told = map[string]any{"erased": erases}
		p.tell(told)
	}
	if !erases {
		return
	}
	high, low := float32(-1), float32(-1)
	if paint.Noise {
		high, low = drawNoise(id, r, 23)
	}
	if told != nil {
		told["x"], told["y"], told["width"], told["height"] = hole.X, hole.Y, hole.Width, hole.Height
		if paint.Noise {
			told["noise"] = int(newNoise(high, low))
		}
	}
	if hole.Width <= 0 || hole.Height <= 0 {
		return
	}
	p.pass(Pass{Effect: &erase, Args: Args{float32(hole.X), float32(hole.Y), float32(hole.Width), float32(hole.Height),
		float32(paint.Color[0]), float32(paint.Color[1]), float32(paint.Color[2]), high, low}})
}

func (o Paint) check(op string, in Form) error {
	if err := in.checkColors(op); err != nil {
		return err
	}
	switch highest := max(o.Color[0], o.Color[1], o.Color[2]); {
	case in.DType == tensor.Uint16 && !o.Noise:
		return nil
	case in.DType != tensor.Uint8:
		return fmt.Errorf("%w: %s of %v: must be uint8, or uint16 with a value", ErrUnsupported, op, in.DType)
	case highest > math.MaxUint8:
		return fmt.Errorf("%w: %s with %d: must be from 0 to 255", ErrGeometry, op, highest)
	}
	return nil
}

// erase has a rectangle, a colour and the seed of noise as its numbers; -1: there is
// none.
var erase = Effect{
	Name:  "erase",
	Fixed: true,
	Check: func(a *Args, f Form) error {
		for _, n := range a {
			if !(n >= -1 && n <= MaxPixels) {
				return fmt.Errorf("%w: erase with %v", ErrGeometry, n)
			}
		}
		paint := Paint{Noise: a[7] >= 0}
		for c := range 3 {
			paint.Color[c] = uint16(min(max(a[4+c], 0), math.MaxUint16))
		}
		return paint.check("erase", f)
	},
	Apply: func(a *Args, p Pixels) Pixels {
		x0, y0 := min(int(a[0]), p.Width), min(int(a[1]), p.Height)
		hole := Rect{x0, y0, min(int(a[2]), p.Width-x0), min(int(a[3]), p.Height-y0)}
		if hole.X < 0 || hole.Y < 0 || hole.Width <= 0 || hole.Height <= 0 {
			return p
		}
		if a[7] >= 0 {
			paintNoise(p.part(hole), newNoise(a[7], a[8]))
		} else {
			paintColor(p.part(hole), [3]uint16{uint16(a[4]), uint16(a[5]), uint16(a[6])})
		}
		return p
	},
}

// paintColor gives all pixels a colour, and leaves alpha.
func paintColor(p Pixels, color [3]uint16) {
	n, colors, size := p.PixelBytes(), p.colors(), p.DType.Size()
	first := p.Row(0)
	for row := first; len(row) > 0; row = row[n:] {
		for c := range colors {
			if size == 1 {
				row[c] = uint8(color[c])
			} else {
				binary.NativeEndian.PutUint16(row[2*c:], color[c])
			}
		}
	}
	for y := 1; y < p.Height; y++ {
		row := p.Row(y)
		if p.Color != RGBA {
			copy(row, first)
			continue
		}
		for x := 0; x < len(row); x += n {
			copy(row[x:x+colors*size], first[x:])
		}
	}
}

// paintNoise gives every value but alpha a random one.
func paintNoise(p Pixels, of noise) {
	n, colors := p.Color.Channels(), p.colors()
	tables := erasedLevels()
	draws := noiseReader{noise: of}
	for y := range p.Height {
		for row := p.Row(y); len(row) > 0; row = row[n:] {
			for c := range colors {
				row[c] = tables[c][draws.next()]
			}
		}
	}
}

// erasedLevels are levels of red, green and blue by the draw of noise. Gray has those of
// red.
var erasedLevels = sync.OnceValue(func() *[3][1 << noiseBits]uint8 {
	mean, std := [3]float64{0.485, 0.456, 0.406}, [3]float64{0.229, 0.224, 0.225}
	all := new([3][1 << noiseBits]uint8)
	for c := range all {
		for i, z := range normals() {
			level := math.RoundToEven(float64(255 * (mean[c] + float64(std[c]*z))))
			all[c][i] = uint8(min(max(level, 0), 255))
		}
	}
	return all
})
