package media

import (
	"fmt"
	"math"
)

// CenterCrop cuts the middle out of an image. A smaller image is padded with zeros
// first (black; transparent, where there is an alpha channel), on the right and below
// by one more pixel than on the left and above where it does not come out even.
type CenterCrop struct {
	Height int `json:"height"`
	Width  int `json:"width"`
}

// Check returns what is wrong with the parameters.
func (o CenterCrop) Check() error { return checkSide("center_crop", o.Height, o.Width) }

// Result tells the form after the operation.
func (o CenterCrop) Result(in Form) (Form, error) { return in.sized("center_crop", Size(o)) }

func (o CenterCrop) name() string { return "center_crop" }

func (o CenterCrop) place(p *Plan, _ uint64, _ Rand) error {
	p.window(Rect{centre(p.Width, o.Width), centre(p.Height, o.Height), o.Width, o.Height}, [4]uint16{})
	return nil
}

// centre returns where a crop begins in a side. Halves go to the even number when
// cutting, as Python rounds, and away from zero when padding.
func centre(side, crop int) int {
	if crop > side {
		return -((crop - side) / 2)
	}
	return int(math.RoundToEven(float64(side-crop) / 2))
}

// RandomCrop cuts a random part of this size out of an image, which must not be smaller.
type RandomCrop struct {
	Height int `json:"height"`
	Width  int `json:"width"`
}

// Check returns what is wrong with the parameters.
func (o RandomCrop) Check() error { return checkSide("random_crop", o.Height, o.Width) }

// Result tells the form after the operation.
func (o RandomCrop) Result(in Form) (Form, error) { return in.sized("random_crop", Size(o)) }

func (o RandomCrop) name() string { return "random_crop" }

func (o RandomCrop) place(p *Plan, id uint64, r Rand) error {
	if o.Height > p.Height || o.Width > p.Width {
		return fmt.Errorf("%w: random_crop of %d×%d pixels out of %d×%d", ErrGeometry, o.Width, o.Height, p.Width, p.Height)
	}
	y := below(r.Float64(id, 0), p.Height-o.Height+1)
	x := below(r.Float64(id, 1), p.Width-o.Width+1)
	part := Rect{x, y, o.Width, o.Height}
	if p.tells() {
		p.tellRect(part)
	}
	p.window(part, [4]uint16{})
	return nil
}

// below turns a random number in [0,1) into one of 0 … n-1.
func below(u float64, n int) int { return min(int(u*float64(n)), n-1) }
