package recipe

import (
	"fmt"
	"math"
	"slices"

	"headrace/media"
	"headrace/recipe/internal/argument"
	"headrace/recipe/internal/jsonschema"
	"headrace/recipe/internal/rawjson"
	"headrace/sample"
	"headrace/tensor"
)

var padOp = operation[Pad]("pad", Between, "Puts a border of one colour around an image.")

// Pad are the arguments of the operation pad.
type Pad struct {
	Padding *Padding `json:"padding,omitempty" required:"true" example:"4" doc:"the width of the border: of all sides, [horizontal, vertical], or [left, top, right, bottom]"`
	Fill    Fill     `json:"fill,omitempty" doc:"its colour: one number for all channels, or one for each; by default 0"`
}

// Padding is the width of a border in pixels; in JSON a number, [horizontal, vertical] or
// [left, top, right, bottom].
type Padding struct{ Left, Top, Right, Bottom int }

// Takes implements [Taker].
func (p *Padding) Takes() string {
	return "a whole number, [horizontal, vertical] or [left, top, right, bottom]"
}

// JSONSchema implements [Schemer].
func (Padding) JSONSchema() map[string]any {
	return jsonschema.OneOrList("integer", map[string]any{"minimum": 0}, 2, 4)
}

// MarshalJSON writes the shortest of the three forms.
func (p Padding) MarshalJSON() ([]byte, error) {
	switch {
	case p == Padding{p.Left, p.Left, p.Left, p.Left}:
		return numbersOf(p.Left), nil
	case p.Left == p.Right && p.Top == p.Bottom:
		return numbersOf(p.Left, p.Top), nil
	}
	return numbersOf(p.Left, p.Top, p.Right, p.Bottom), nil
}

// UnmarshalJSON reads any of the three forms.
func (p *Padding) UnmarshalJSON(b []byte) error {
	n, ok := parseNumbers[int](b)
	switch {
	case ok && len(n) == 1 && rawjson.Value(b).Kind() == rawjson.Number:
		*p = Padding{n[0], n[0], n[0], n[0]}
	case ok && len(n) == 2:
		*p = Padding{n[0], n[1], n[0], n[1]}
	case ok && len(n) == 4:
		*p = Padding{n[0], n[1], n[2], n[3]}
	default:
		return fmt.Errorf("recipe: takes %s", p.Takes())
	}
	return nil
}

// Fill is a colour, by channel, or one number for all channels; in JSON a number or a
// list.
type Fill []int

// Takes implements [Taker].
func (f *Fill) Takes() string { return "a whole number, or one for each channel" }

// JSONSchema implements [Schemer].
func (Fill) JSONSchema() map[string]any {
	return jsonschema.OneOrList("integer", map[string]any{"minimum": 0, "maximum": math.MaxUint16}, 1, 3, 4)
}

// MarshalJSON writes one number as it is, and several as a list.
func (f Fill) MarshalJSON() ([]byte, error) { return numbersOf(f...), nil }

// UnmarshalJSON reads what MarshalJSON wrote.
func (f *Fill) UnmarshalJSON(b []byte) error {
	n, ok := parseNumbers[int](b)
	if !ok || len(n) == 0 || len(n) > 4 {
		return fmt.Errorf("recipe: takes %s", f.Takes())
	}
	*f = n
	return nil
}

func (p Pad) complete() Args {
	if p.Fill == nil {
		p.Fill = Fill{0}
	}
	return &p
}

// Transform implements [Transform].
func (p *Pad) Transform() media.Op {
	op := media.Pad{Left: p.Padding.Left, Top: p.Padding.Top, Right: p.Padding.Right, Bottom: p.Padding.Bottom}
	for c := range op.Fill {
		switch {
		case len(p.Fill) == 1:
			op.Fill[c] = uint16(p.Fill[0])
		case c < len(p.Fill):
			op.Fill[c] = uint16(p.Fill[c])
		}
	}
	return op
}

// Check implements [Args].
func (p *Pad) Check(in sample.Schema) (sample.Schema, error) {
	errs := []error{argument.Given("padding", p.Padding != nil)}
	if b := p.Padding; b != nil && min(b.Left, b.Top, b.Right, b.Bottom) < 0 {
		errs = append(errs, Wrong("padding", "is %s: takes numbers from 0 on", shown(b)))
	}
	if i := slices.IndexFunc(in, func(f sample.Field) bool { return isImage(f.Type) }); i >= 0 {
		errs = append(errs, p.checkFill(ImageForm(in[i].Type)))
	}
	return checkTransform(in, p, errs...)
}

func (p *Pad) checkFill(f media.Form) error {
	highest := 255
	if f.DType == tensor.Uint16 {
		highest = 65535
	}
	switch n := f.Color.Channels(); {
	case len(p.Fill) == 0:
		return nil
	case len(p.Fill) > 1 && len(p.Fill) != n:
		return Wrong("fill", "is %s: takes one number, or %d, for the image is %v", shown(p.Fill), n, f.Color)
	case slices.Min(p.Fill) < 0 || slices.Max(p.Fill) > highest:
		return Wrong("fill", "is %s: takes numbers from 0 to %d, for the image is %v", shown(p.Fill), highest, f.DType)
	}
	return nil
}
