package image

import (
	"cmp"
	"errors"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/jsonschema"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[Pad]("pad", recipe.Between, "Add a border of one colour to an image.").Explained("",
	".pad(4)").Called("padding, fill").
	Replacing("Pad(4)"))

// Pad are the arguments of the operation pad. Exactly one of Padding and Size is given.
type Pad struct {
	Padding *Padding    `json:"padding,omitempty" example:"4"`
	Fill    Fill        `json:"fill,omitempty" default:"0" doc:"its colour: one number, or one per channel"`
	Size    recipe.Size `json:"size,omitzero"`
	Anchor  string      `json:"anchor,omitempty" choices:"center,top_left,top,top_right,left,right,bottom_left,bottom,bottom_right"`

	recipe.On
}

// Docs implements [argument.Documented].
func (*Pad) Docs() map[string]string {
	return map[string]string{
		"padding": "width of the border: of all sides, [horizontal, vertical], or [left, top, right, bottom]",
		"size": "instead of padding, [height, width] with the border, or one number for both. Larger images are " +
			"bad samples: 'resize' with 'fit=\"pad\"' shrinks them first",
		"anchor": "with size: where the image is; by default 'center'",
	}
}

// Padding is the width of a border in pixels; in JSON a number, [horizontal, vertical] or
// [left, top, right, bottom].
type Padding struct{ Left, Top, Right, Bottom int }

// Takes implements [recipe.Taker].
func (p *Padding) Takes() string {
	return "a whole number, [horizontal, vertical] or [left, top, right, bottom]"
}

// JSONSchema implements [recipe.Schemer].
func (Padding) JSONSchema() map[string]any {
	return jsonschema.OneOrList("integer", map[string]any{"minimum": 0}, 2, 4)
}

// MarshalJSON writes the shortest of the three forms.
func (p Padding) MarshalJSON() ([]byte, error) {
	switch {
	case p == Padding{p.Left, p.Left, p.Left, p.Left}:
		return argument.MarshalNumbers(p.Left), nil
	case p.Left == p.Right && p.Top == p.Bottom:
		return argument.MarshalNumbers(p.Left, p.Top), nil
	}
	return argument.MarshalNumbers(p.Left, p.Top, p.Right, p.Bottom), nil
}

// UnmarshalJSON reads any of the three forms.
func (p *Padding) UnmarshalJSON(b []byte) error {
	n, err := argument.UnmarshalNumbers[int](b, p.Takes(), 2, 4)
	if err == nil {
		k := len(n) // each side has one, or two have one together, or all have the one
		*p = Padding{n[0], n[1%k], n[2%k], n[3%k]}
	}
	return err
}

// Complete implements [recipe.Completer].
func (p Pad) Complete() recipe.Args {
	if !p.Size.IsZero() {
		p.Size, p.Anchor = p.Size.Square(), cmp.Or(p.Anchor, usualAnchor)
	}
	return &p
}

// Transform implements [recipe.Transform].
func (p *Pad) Transform() media.Op {
	if !p.Size.IsZero() {
		height, width := p.Size.Both()
		return media.PadTo{Height: height, Width: width, Anchor: anchor(p.Anchor), Fill: p.Fill.color()}
	}
	return media.Pad{Left: p.Padding.Left, Top: p.Padding.Top, Right: p.Padding.Right, Bottom: p.Padding.Bottom, Fill: p.Fill.color()}
}

// Check implements [recipe.Args].
func (p *Pad) Check(in sample.Schema) (sample.Schema, error) {
	var errs []error
	switch {
	case p.Padding == nil && p.Size.IsZero():
		errs = append(errs, errors.New("has neither padding nor size: give one of them"))
	case p.Padding != nil && !p.Size.IsZero():
		errs = append(errs, errors.New("has both padding and size: give one of them"))
	case p.Padding != nil && p.Anchor != "":
		errs = append(errs, recipe.Wrong("anchor", "is %q, but there is no size: it is where the image is in that", p.Anchor))
	}
	if b := p.Padding; b != nil && min(b.Left, b.Top, b.Right, b.Bottom) < 0 {
		errs = append(errs, recipe.Wrong("padding", "is %s: must be at least 0", argument.Written(b)))
	}
	return recipe.CheckTransform(in, p, append(errs, p.Fill.check(in, p.Images(in)))...)
}
