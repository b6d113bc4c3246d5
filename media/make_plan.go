package media

import (
	"fmt"

	"github.com/headrace/headrace/media/internal/orient"
)

// MakePlan works out what the steps, one after the other, do to the image that info
// describes, decoded as o says. The random operations among them ask r. plan is
// overwritten; its memory is used again.
func MakePlan(info Info, o Options, steps []Step, r Rand, plan *Plan) error {
	if err := o.Check(); err != nil {
		return err
	}
	if info.Width <= 0 || info.Height <= 0 {
		return fmt.Errorf("%w: an image of %d×%d pixels", ErrGeometry, info.Width, info.Height)
	}
	if err := checkPixels(info.Width, info.Height, o.MaxPixels); err != nil {
		return err
	}
	plan.begin(info, o)
	if err := plan.square(info, o); err != nil {
		return err
	}
	for i := range steps {
		plan.drawing = i
		plan.given = append(plan.given, Size{plan.Height, plan.Width})
		if err := plan.place(&steps[i], r); err != nil {
			return &StepError{i, err}
		}
	}
	plan.drawing = 0
	plan.narrow()
	plan.finish()
	return nil
}

// Explain makes a plan as MakePlan does, and tells what the random operations among the
// steps have drawn. The draws are the same.
func Explain(info Info, o Options, steps []Step, r Rand, plan *Plan) ([]Draw, error) {
	plan.draws = []Draw{}
	defer func() { plan.draws = nil }()
	err := MakePlan(info, o, steps, r, plan)
	return plan.draws, err
}

func (p *Plan) begin(info Info, o Options) {
	p.Options, p.Color = o, o.Color
	p.Output = Output{DType: o.Form().DType}
	p.Orientation = 1
	if o.Orient && info.Orientation >= 1 && info.Orientation <= 8 {
		p.Orientation = info.Orientation
	}
	p.Width, p.Height = orient.Size(p.Orientation, info.Width, info.Height)
	p.inWidth, p.inHeight = p.Width, p.Height
	p.Stages, p.given, p.moves = p.Stages[:0], p.given[:0], p.moves[:0]
	p.addStage()
}

// square resizes an image whose pixels are to be square, and are not: along the rows in
// which they are stored.
func (p *Plan) square(info Info, o Options) error {
	across, down := int64(info.Aspect[0]), int64(info.Aspect[1])
	if !o.Square || across <= 0 || down <= 0 || across == down {
		return nil
	}
	size := Size{p.Height, p.Width}
	side := &size.Width
	if turnsSideways(p.Orientation) {
		side = &size.Height
	}
	n := max(1, (int64(*side)*across+down/2)/down)
	if n > MaxPixels {
		return fmt.Errorf("%w: pixels of %d:%d", ErrTooLarge, across, down)
	}
	*side = int(n)
	err := p.place(&Step{Op: ResizeExact{Height: size.Height, Width: size.Width}}, nil)
	p.moves = p.moves[:0] // boxes are on the image as it is now
	return err
}

// place appends one step. Its parameters and what it is given are checked here, so that
// no operation has to.
func (p *Plan) place(step *Step, r Rand) error {
	if err := step.Op.Check(); err != nil {
		return err
	}
	if _, err := step.Op.Result(p.Form()); err != nil {
		return err
	}
	width, height := p.Width, p.Height
	if err := step.Op.place(p, step.ID, r); err != nil {
		return err
	}
	if p.Width <= 0 || p.Height <= 0 {
		return fmt.Errorf("%w: %s leaves %d×%d pixels of %d×%d", ErrGeometry, step.Op.name(), p.Width, p.Height, width, height)
	}
	if p.Width > MaxPixels/p.Height {
		return fmt.Errorf("%w: %s makes %d×%d pixels of %d×%d", ErrTooLarge, step.Op.name(), p.Width, p.Height, width, height)
	}
	return nil
}

// finish leaves turning to the decoder where it has to turn anyway, or where a pass of
// its own would be needed.
func (p *Plan) finish() {
	if s := &p.Stages[0]; !s.Resizes() && s.Turn > 1 && (p.Orientation > 1 || s.Turn > 4) {
		p.turnBefore(0)
	}
}
