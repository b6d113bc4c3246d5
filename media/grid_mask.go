package media

import "fmt"

// GridMask erases a grid of squares with probability P. Its period is a whole number of
// pixels between the bounds of Size, Ratio of it are the side of a square, and it begins
// anywhere.
type GridMask struct {
	Size  [2]int  `json:"size"` // from 2
	Ratio float64 `json:"ratio"`
	P     float64 `json:"p"`
	Paint Paint   `json:"paint,omitzero"`
}

// Check refuses parameters beyond their bounds.
func (o GridMask) Check() error {
	if o.Size[0] < 2 || o.Size[0] > o.Size[1] || o.Size[1] > MaxPixels {
		return fmt.Errorf("%w: grid_mask: size %v must be two rising numbers of pixels from 2 on", ErrGeometry, o.Size)
	}
	if !(o.Ratio >= 0 && o.Ratio <= 1) {
		return fmt.Errorf("%w: grid_mask: ratio %v must be from 0 to 1", ErrGeometry, o.Ratio)
	}
	if o.Paint.Noise {
		return fmt.Errorf("%w: grid_mask with noise", ErrUnsupported)
	}
	return checkChance("grid_mask", o.P)
}

// Result tells the form after the operation.
func (o GridMask) Result(in Form) (Form, error) { return in, o.Paint.check("grid_mask", in) }

func (o GridMask) name() string { return "grid_mask" }

// place uses draw 0 for whether, 1 for the period, 2 and 3 for the place.
func (o GridMask) place(p *Plan, id uint64, r Rand) error {
	erases := r.Float64(id, 0) < o.P
	period := o.Size[0] + below(r.Float64(id, 1), o.Size[1]-o.Size[0]+1)
	y, x := below(r.Float64(id, 2), period), below(r.Float64(id, 3), period)
	side := min(max(int(float64(float64(period)*o.Ratio)+0.5), 1), period-1)
	if p.tells() {
		told := map[string]any{"erased": erases}
		if erases {
			told["period"], told["x"], told["y"] = period, x, y
		}
		p.tell(told)
	}
	if erases {
		p.pass(Pass{Effect: &gridMask, Args: Args{float32(x), float32(y), float32(period), float32(side),
			float32(o.Paint.Color[0]), float32(o.Paint.Color[1]), float32(o.Paint.Color[2])}})
	}
	return nil
}

// gridMask has the place of a square, the period, the side and a colour as its numbers.
var gridMask = Effect{
	Name:  "grid_mask",
	Fixed: true,
	Check: func(a *Args, f Form) error {
		for _, n := range a {
			if !(n >= 0 && n <= MaxPixels) {
				return fmt.Errorf("%w: grid_mask with %v", ErrGeometry, n)
			}
		}
		if a[2] < 2 {
			return fmt.Errorf("%w: grid_mask with a period of %v", ErrGeometry, a[2])
		}
		return Paint{Color: [4]uint16{uint16(a[4]), uint16(a[5]), uint16(a[6])}}.check("grid_mask", f)
	},
	Apply: func(a *Args, p Pixels) Pixels {
		period, side, color := int(a[2]), int(a[3]), [3]uint16{uint16(a[4]), uint16(a[5]), uint16(a[6])}
		if side < 1 {
			return p
		}
		for y := int(a[1])%period - period; y < p.Height; y += period {
			y0, y1 := max(y, 0), min(y+side, p.Height)
			for x := int(a[0])%period - period; x < p.Width && y0 < y1; x += period {
				if x0, x1 := max(x, 0), min(x+side, p.Width); x0 < x1 {
					paintColor(p.part(Rect{x0, y0, x1 - x0, y1 - y0}), color)
				}
			}
		}
		return p
	},
}
