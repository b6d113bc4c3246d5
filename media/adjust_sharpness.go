package media

import (
	"fmt"
	"math"
	"sync"
)

// AdjustSharpness goes from an image that is smoothed a little to the image by Factor: 0
// is the smooth one, 1 changes nothing, and a greater one sharpens. Alpha and the
// outermost pixels stay.
type AdjustSharpness struct {
	Factor float64 `json:"factor"` // at least 0
}

// Check refuses parameters beyond their bounds.
func (o AdjustSharpness) Check() error { return checkSharpness("adjust_sharpness", o.Factor) }

// Result tells the form after the operation.
func (o AdjustSharpness) Result(in Form) (Form, error) {
	return in, in.checkByteColors("adjust_sharpness")
}

func (o AdjustSharpness) name() string { return "adjust_sharpness" }

func (o AdjustSharpness) place(p *Plan, _ uint64, _ Rand) error {
	if o.Factor != 1 {
		p.pass(Pass{Effect: &adjustSharpness, Args: Args{float32(o.Factor)}})
	}
	return nil
}

// RandomAdjustSharpness is AdjustSharpness with probability P.
type RandomAdjustSharpness struct {
	Factor float64 `json:"factor"`
	P      float64 `json:"p"`
}

// Check refuses parameters beyond their bounds.
func (o RandomAdjustSharpness) Check() error {
	if err := checkSharpness("random_adjust_sharpness", o.Factor); err != nil {
		return err
	}
	return checkChance("random_adjust_sharpness", o.P)
}

// Result tells the form after the operation.
func (o RandomAdjustSharpness) Result(in Form) (Form, error) {
	return in, in.checkByteColors("random_adjust_sharpness")
}

func (o RandomAdjustSharpness) name() string { return "random_adjust_sharpness" }

// place uses draw 0.
func (o RandomAdjustSharpness) place(p *Plan, id uint64, r Rand) error {
	if !p.applies(id, r, o.P, "sharpened") {
		return nil
	}
	return AdjustSharpness{o.Factor}.place(p, id, r)
}

func checkSharpness(op string, factor float64) error {
	if !(factor >= 0 && factor <= math.MaxFloat32) {
		return fmt.Errorf("%w: %s by %v: must be a number from 0 on", ErrGeometry, op, factor)
	}
	return nil
}

// adjustSharpness has the factor as its number, and follows Pillow's
// ImageEnhance.Sharpness does: a pixel counts five times and its eight neighbours once,
// and that is rounded before the blend.
var adjustSharpness = Effect{
	Name:  "adjust_sharpness",
	Reach: func(*Args) int { return 1 },
	Extra: func(*Args) int { return 4 }, // at most as many rows as there are
	Check: checkBytes("adjust_sharpness", func(a *Args) error { return checkSharpness("adjust_sharpness", float64(a[0])) }),
	Apply: func(a *Args, p Pixels) Pixels {
		if p.Width < 3 || p.Height < 3 {
			return p
		}
		s := sharpenRows.Get().(*[]byte)
		*s = sharpen(p, a[0], *s)
		sharpenRows.Put(s)
		return p
	},
}

var sharpenRows = sync.Pool{New: func() any { return new([]byte) }}

// sharpen works in place, with two rows of memory: those above and at the place, as they
// were. It returns the memory.
func sharpen(p Pixels, factor float32, rows []byte) []byte {
	n, colors, bytes := p.Color.Channels(), p.colors(), p.Width*p.PixelBytes()
	rows = append(rows[:0], make([]byte, 2*bytes)...)
	above, at := rows[:bytes], rows[bytes:]
	copy(at, p.Row(0))
	for y := 1; y < p.Height-1; y++ {
		above, at = at, above
		row, below := p.Row(y), p.Row(y+1)
		copy(at, row)
		for x := n; x < bytes-n; x += n {
			for c := x; c < x+colors; c++ {
				sum := int(above[c-n]) + int(above[c]) + int(above[c+n]) + int(at[c-n]) + 5*int(at[c]) + int(at[c+n]) +
					int(below[c-n]) + int(below[c]) + int(below[c+n])
				row[c] = blend(uint8((2*sum+13)/26), at[c], factor)
			}
		}
	}
	return rows
}
