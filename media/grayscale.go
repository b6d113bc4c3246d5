package media

import "fmt"

// ToGrayscale takes the colours out of an image. What is left is the lightness:
// (19595·R + 38470·G + 7471·B + 32768) / 65536, rounded down.
type ToGrayscale struct {
	Channels int `json:"channels,omitempty"` // 1, which 0 means: a gray image; 3: one whose red, green and blue are equal
}

// Check returns what is wrong with the parameters.
func (o ToGrayscale) Check() error {
	if o.Channels != 0 && o.Channels != 1 && o.Channels != 3 {
		return fmt.Errorf("%w: grayscale to %d channels: must be 1 or 3", ErrGeometry, o.Channels)
	}
	return nil
}

// Result tells the form after the operation.
func (o ToGrayscale) Result(in Form) (Form, error) {
	if err := in.checkColors("grayscale"); err != nil {
		return in, err
	}
	if o.Channels != 3 {
		in.Color = Gray
	} else if in.Color != RGB {
		return in, fmt.Errorf("%w: grayscale to 3 channels of %v: must be rgb", ErrUnsupported, in.Color)
	}
	return in, nil
}

func (o ToGrayscale) name() string { return "grayscale" }

func (o ToGrayscale) place(p *Plan, _ uint64, _ Rand) error {
	if o.Channels == 3 {
		p.adjust(Adjust{Kind: Grayscale})
	} else {
		p.adjust(Adjust{Kind: ToGray})
	}
	return nil
}

// RandomGrayscale takes the colours out of an image with probability P. The image
// keeps its channels.
type RandomGrayscale struct {
	P float64 `json:"p"`
}

// Check returns what is wrong with the parameters.
func (o RandomGrayscale) Check() error { return checkChance("random_grayscale", o.P) }

// Result tells the form after the operation.
func (o RandomGrayscale) Result(in Form) (Form, error) { return in, in.checkColors("random_grayscale") }

// place uses draw 0.
func (o RandomGrayscale) name() string { return "random_grayscale" }

func (o RandomGrayscale) place(p *Plan, id uint64, r Rand) error {
	if p.applies(id, r, o.P, "gray") {
		p.adjust(Adjust{Kind: Grayscale})
	}
	return nil
}
