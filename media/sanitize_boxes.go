package media

import (
	"fmt"
	"math"
)

// SanitizeBoxes leaves out boxes that are small or beyond the image's edges. Pixels stay.
type SanitizeBoxes struct {
	MinSize float64 `json:"min_size"` // in pixels, of width and of height
	MinArea float64 `json:"min_area"`
}

// Check refuses parameters beyond their bounds.
func (o SanitizeBoxes) Check() error {
	if !(o.MinSize >= 1 && o.MinArea >= 1) || math.IsInf(o.MinSize+o.MinArea, 0) {
		return fmt.Errorf("%w: sanitize_boxes with a size of %v and an area of %v: must be at least 1", ErrGeometry, o.MinSize, o.MinArea)
	}
	return nil
}

// Result tells the form after the operation.
func (o SanitizeBoxes) Result(in Form) (Form, error) { return in, in.checkPixels("sanitize_boxes") }

func (o SanitizeBoxes) name() string { return "sanitize_boxes" }

// NeedsBoxes says that there is nothing to do without boxes.
func (o SanitizeBoxes) NeedsBoxes() {}

func (o SanitizeBoxes) place(p *Plan, _ uint64, _ Rand) error {
	p.moves = append(p.moves, move{step: p.drawing, from: Size{p.Height, p.Width}, sane: &limits{o.MinSize, o.MinArea}, turn: 1})
	return nil
}
