package recipe

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/jsonschema"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

var padOp = NewOp[Pad]("pad", Between, "Add a border of one colour to an image.").Explained("", ".pad(4)").Called("padding, fill")

// Pad are the arguments of the operation pad. Exactly one of Padding and Size is given.
type Pad struct {
	Padding *Padding `json:"padding,omitempty" example:"4" doc:"width of the border: of all sides, [horizontal, vertical], or [left, top, right, bottom]"`
	Fill    Fill     `json:"fill,omitempty" default:"0" doc:"its colour: one number, or one per channel"`
	Size    Size     `json:"size,omitzero" doc:"instead of padding, [height, width] with the border, or one number for both. Larger images are bad samples: 'resize' with 'fit=\"pad\"' shrinks them first"`
	Anchor  string   `json:"anchor,omitempty" choices:"center,top_left,top,top_right,left,right,bottom_left,bottom,bottom_right" doc:"with size: where the image is; by default 'center'"`

	On
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
func (f Fill) MarshalJSON() ([]byte, error) { return argument.MarshalNumbers(f...), nil }

// UnmarshalJSON reads what MarshalJSON wrote.
func (f *Fill) UnmarshalJSON(b []byte) error {
	n, err := argument.UnmarshalNumbers[int](b, f.Takes(), 1, 2, 3, 4)
	if err == nil {
		*f = n
	}
	return err
}

// Complete implements [Completer].
func (p Pad) Complete() Args {
	if !p.Size.IsZero() {
		p.Size, p.Anchor = p.Size.Square(), cmp.Or(p.Anchor, usualAnchor)
	}
	return &p
}

// Transform implements [Transform].
func (p *Pad) Transform() media.Op {
	if !p.Size.IsZero() {
		height, width := p.Size.Both()
		return media.PadTo{Height: height, Width: width, Anchor: anchor(p.Anchor), Fill: p.Fill.color()}
	}
	return media.Pad{Left: p.Padding.Left, Top: p.Padding.Top, Right: p.Padding.Right, Bottom: p.Padding.Bottom, Fill: p.Fill.color()}
}

// color is the colour by channel.
func (f Fill) color() (by [4]uint16) {
	for c := range by {
		switch {
		case len(f) == 1:
			by[c] = uint16(f[0])
		case c < len(f):
			by[c] = uint16(f[c])
		}
	}
	return by
}

// Check implements [Args].
func (p *Pad) Check(in sample.Schema) (sample.Schema, error) {
	var errs []error
	switch {
	case p.Padding == nil && p.Size.IsZero():
		errs = append(errs, errors.New("has neither padding nor size: give one of them"))
	case p.Padding != nil && !p.Size.IsZero():
		errs = append(errs, errors.New("has both padding and size: give one of them"))
	case p.Padding != nil && p.Anchor != "":
		errs = append(errs, Wrong("anchor", "is %q, but there is no size: it is where the image is in that", p.Anchor))
	}
	if b := p.Padding; b != nil && min(b.Left, b.Top, b.Right, b.Bottom) < 0 {
		errs = append(errs, Wrong("padding", "is %s: must be at least 0", argument.Written(b)))
	}
	return CheckTransform(in, p, append(errs, p.Fill.check(in, p.Images(in)))...)
}

// check holds a colour against images of a schema.
func (f Fill) check(in sample.Schema, images []string) error {
	var errs []error
	for _, name := range images {
		if len(f) > 0 {
			errs = append(errs, f.fits(ImageForm(in[in.Find(name)].Type)))
		}
	}
	return errors.Join(errs...)
}

func (f Fill) fits(form media.Form) error {
	highest := 255
	if form.DType == tensor.Uint16 {
		highest = 65535
	}
	switch n := form.Color.Channels(); {
	case len(f) > 1 && len(f) != n:
		return Wrong("fill", "is %s: must be one number, or %d, because the image is %v", argument.Written(f), n, form.Color)
	case slices.Min(f) < 0 || slices.Max(f) > highest:
		return Wrong("fill", "is %s: must be from 0 to %d, because the image is %v", argument.Written(f), highest, form.DType)
	}
	return nil
}

// usualAnchor is that of every operation that names none.
const usualAnchor = "center"

// anchor returns the anchor of a name that was checked, or of none.
func anchor(name string) media.Anchor {
	a, _ := media.ParseAnchor(cmp.Or(name, usualAnchor))
	return a
}
