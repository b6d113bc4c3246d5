package media

import (
	"fmt"

	"github.com/headrace/headrace/tensor"
)

// Pad puts a border of one colour round an image.
type Pad struct {
	Left   int `json:"left,omitempty"`
	Top    int `json:"top,omitempty"`
	Right  int `json:"right,omitempty"`
	Bottom int `json:"bottom,omitempty"`
	// Fill is the colour by channel, of the image's depth: gray has one, and RGBA's
	// fourth is alpha.
	Fill [4]uint16 `json:"fill,omitzero"`
}

// Check returns what is wrong with the parameters.
func (o Pad) Check() error {
	for _, n := range [...]int{o.Left, o.Top, o.Right, o.Bottom} {
		if n < 0 || n > maxSide {
			return fmt.Errorf("%w: pad by %d (left), %d (top), %d (right) and %d (bottom) pixels: must be from 0 to %d",
				ErrGeometry, o.Left, o.Top, o.Right, o.Bottom, maxSide)
		}
	}
	return nil
}

// Result tells the form after the operation.
func (o Pad) Result(in Form) (Form, error) {
	s := Size{in.Height, in.Width}
	if s.Height != Unknown {
		s.Height += o.Top + o.Bottom
	}
	if s.Width != Unknown {
		s.Width += o.Left + o.Right
	}
	if err := checkFill("pad", in, o.Fill); err != nil {
		return in, err
	}
	return in.sized("pad", s)
}

// checkFill refuses colours that pixels of a form cannot have.
func checkFill(op string, in Form, fill [4]uint16) error {
	for _, v := range fill[:in.Color.Channels()] {
		if in.DType == tensor.Uint8 && v > 255 {
			return fmt.Errorf("%w: %s of %v with %v", ErrGeometry, op, in, fill)
		}
	}
	return nil
}

func (o Pad) name() string { return "pad" }

func (o Pad) place(p *Plan, _ uint64, _ Rand) error {
	p.window(Rect{-o.Left, -o.Top, o.Left + p.Width + o.Right, o.Top + p.Height + o.Bottom}, o.Fill)
	return nil
}
