package media

import "fmt"

// RandomIoUCrop cuts a random part out of an image whose overlap with some box is at
// least a share that is drawn from Options: intersection over union, as SSD does it. A
// share of 1 or more leaves the image as it is. Boxes whose centre is not in the part
// are left out. Without boxes the image stays as it is.
type RandomIoUCrop struct {
	Scale   [2]float64 `json:"scale"`  // of each side, above 0 and up to 1
	Aspect  [2]float64 `json:"aspect"` // of width to height
	Options []float64  `json:"options"`
	Trials  int        `json:"trials"`
}

// Check refuses parameters beyond their bounds.
func (o RandomIoUCrop) Check() error {
	switch {
	case !(o.Scale[0] > 0 && o.Scale[0] <= o.Scale[1] && o.Scale[1] <= 1):
		return fmt.Errorf("%w: random_iou_crop: scale %v must be two rising shares in (0,1]", ErrGeometry, o.Scale)
	case !(o.Aspect[0] > 0 && o.Aspect[0] <= o.Aspect[1]):
		return fmt.Errorf("%w: random_iou_crop: aspect %v must be two rising numbers above 0", ErrGeometry, o.Aspect)
	case len(o.Options) == 0:
		return fmt.Errorf("%w: random_iou_crop without options", ErrGeometry)
	case o.Trials < 1 || o.Trials > mostTrials:
		return fmt.Errorf("%w: random_iou_crop with %d trials: must be from 1 to %d", ErrGeometry, o.Trials, mostTrials)
	}
	for _, v := range o.Options {
		if !(v >= 0) {
			return fmt.Errorf("%w: random_iou_crop: options %v must be at least 0", ErrGeometry, o.Options)
		}
	}
	return nil
}

// Draws end: after so many options the image stays as it is.
const (
	mostTrials  = 1000
	mostOptions = 100
)

// Result tells the form after the operation.
func (o RandomIoUCrop) Result(in Form) (Form, error) {
	in.Height, in.Width = Unknown, Unknown
	return in, in.checkPixels("random_iou_crop")
}

func (o RandomIoUCrop) name() string { return "random_iou_crop" }

// NeedsBoxes says that there is nothing to do without boxes.
func (o RandomIoUCrop) NeedsBoxes() {}

func (o RandomIoUCrop) place(p *Plan, id uint64, r Rand) error {
	whole := Rect{0, 0, p.Width, p.Height}
	part, err := whole, error(nil)
	if p.Along != nil {
		part, err = p.Along.Agree(id, func() Rect { return o.draw(p, id, r) })
	}
	if err != nil {
		return err
	}
	if p.tells() {
		p.tellRect(part)
	}
	if part == whole {
		return nil
	}
	p.moves = append(p.moves, move{step: p.drawing, window: part, centres: true, turn: 1})
	p.window(part, [4]uint16{})
	return nil
}

// draw chooses the part. Each option has a draw for itself, and four for each of its
// trials.
func (o RandomIoUCrop) draw(p *Plan, id uint64, r Rand) Rect {
	whole := Rect{0, 0, p.Width, p.Height}
	boxes := p.boxes()
	if len(boxes) == 0 {
		return whole
	}

	for k := range uint32(mostOptions) {
		first := k * uint32(1+4*o.Trials)
		least := o.Options[below(r.Float64(id, first), len(o.Options))]
		if least >= 1 {
			return whole
		}
		for t := range uint32(o.Trials) {
			at := first + 1 + 4*t
			w := int(float64(p.Width) * evenly(o.Scale, id, r, at))
			h := int(float64(p.Height) * evenly(o.Scale, id, r, at+1))
			if w == 0 || h == 0 {
				continue
			}
			if aspect := float64(w) / float64(h); aspect < o.Aspect[0] || aspect > o.Aspect[1] {
				continue
			}
			x := int(float64(p.Width-w) * r.Float64(id, at+2))
			y := int(float64(p.Height-h) * r.Float64(id, at+3))
			if part := (Rect{x, y, w, h}); part.holds(boxes, least) {
				return part
			}
		}
	}
	return whole
}

// holds reports whether the centre of some box is in the rectangle, and the overlap with
// one of those is enough.
func (r Rect) holds(boxes []Bounds, least float64) bool {
	own := Bounds{float64(r.X), float64(r.Y), float64(r.X + r.Width), float64(r.Y + r.Height)}
	for _, b := range boxes {
		if own.holdsCentre(b) && own.overlap(b) >= least {
			return true
		}
	}
	return false
}

// boxes returns those of the image so far, of at least a pixel in each direction.
func (p *Plan) boxes() (all []Bounds) {
	for _, b := range p.Along.Boxes {
		if b = p.Moved(b, p.Along.From); b.X1-b.X0 >= 1 && b.Y1-b.Y0 >= 1 {
			all = append(all, b)
		}
	}
	return all
}
