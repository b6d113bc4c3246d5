package media

import "fmt"

// ParseLayout returns the layout called "NHWC" or "NCHW", where N is the axis that
// batches have before those of an image; or, of clips, "THWC", "TCHW" or "CTHW".
func ParseLayout(name string) (Layout, error) {
	switch name {
	case "NHWC", "THWC":
		return HWC, nil
	case "NCHW", "TCHW":
		return CHW, nil
	case "CTHW":
		return CTHW, nil
	}
	return 0, fmt.Errorf(`media: unknown layout %q: must be "NHWC" or "NCHW", and of clips "THWC", "TCHW" or "CTHW"`, name)
}

// ToLayout orders the axes of an image.
type ToLayout struct {
	Layout Layout `json:"layout"`
}

// Check returns what is wrong with the parameters.
func (o ToLayout) Check() error {
	if o.Layout > CTHW {
		return fmt.Errorf("%w: layout %d", ErrGeometry, uint8(o.Layout))
	}
	return nil
}

// Result tells the form after the operation.
func (o ToLayout) Result(in Form) (Form, error) {
	if in.Color == Mask {
		return in, fmt.Errorf("%w: layout of a mask, which has no channels", ErrUnsupported)
	}
	in.Layout = o.Layout
	return in, nil
}

func (o ToLayout) name() string { return "layout" }

func (o ToLayout) place(p *Plan, _ uint64, _ Rand) error {
	p.Output.Layout = o.Layout.Frame()
	return nil
}
