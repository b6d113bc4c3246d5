package image

import (
	"encoding/json"
	"fmt"

	"github.com/headrace/headrace/internal/jsonschema"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[Perspective]("perspective", recipe.Between,
	"Move four points of an image to others, as if it were looked at from another place; as torchvision's 'perspective'.").
	Explained("", "corners = [(0, 0), (63, 0), (63, 63), (0, 63)]", ".perspective(corners, [(4, 0), (59, 6), (63, 63), (0, 60)])").
	Called("start, end").
	Replacing("functional.perspective(image, start, end)"))

// Perspective are the arguments of the operation perspective.
type Perspective struct {
	Start  Corners `json:"start,omitempty" required:"true" example:"[[0, 0], [63, 0], [63, 63], [0, 63]]"`
	End    Corners `json:"end,omitempty" required:"true" example:"[[4, 0], [59, 6], [63, 63], [0, 60]]" doc:"where they come to be"`
	Filter string  `json:"filter,omitempty" choices:"nearest,bilinear,bicubic" default:"bilinear"`
	Fill   Fill    `json:"fill,omitempty" default:"0"`

	recipe.On
}

// Docs implements [argument.Documented].
func (*Perspective) Docs() map[string]string {
	return ofWarps("center expand", map[string]string{
		"start": "four points of the image, each [across, down] in pixels, usually its corners from the upper left on, clockwise",
	})
}

// Corners are four points; in JSON a list of four lists of two.
type Corners [][2]float64

// Takes implements [recipe.Taker].
func (c *Corners) Takes() string { return "four points, each [across, down]" }

// JSONSchema implements [recipe.Schemer].
func (Corners) JSONSchema() map[string]any {
	point := map[string]any{"type": "array", "items": jsonschema.OrVariable(jsonschema.Scalar("number", nil)), "minItems": 2, "maxItems": 2}
	return map[string]any{"type": "array", "items": point, "minItems": 4, "maxItems": 4}
}

// UnmarshalJSON reads the list.
func (c *Corners) UnmarshalJSON(b []byte) error {
	var list [][]float64
	if json.Unmarshal(b, &list) != nil || len(list) != 4 {
		return fmt.Errorf("recipe: must be %s", c.Takes())
	}
	*c = make(Corners, 4)
	for i, at := range list {
		if len(at) != 2 {
			return fmt.Errorf("recipe: must be %s", c.Takes())
		}
		(*c)[i] = [2]float64(at)
	}
	return nil
}

// quad are the points, of which only a Go program can have another number.
func (c Corners) quad() (q media.Quad) {
	copy(q[:], c)
	return q
}

// Refused implements [recipe.Refuser].
func (*Perspective) Refused() map[string]string { return torchvisionsNames }

// Transform implements [recipe.Transform].
func (p *Perspective) Transform() media.Op {
	return media.Perspective{Start: p.Start.quad(), End: p.End.quad(), Filter: filter(p.Filter), Fill: p.Fill.color()}
}

// Check implements [recipe.Args].
func (p *Perspective) Check(in sample.Schema) (sample.Schema, error) {
	errs := []error{p.Fill.check(in, p.Images(in))}
	for name, c := range map[string]Corners{"start": p.Start, "end": p.End} {
		if c != nil && len(c) != 4 {
			errs = append(errs, recipe.Wrong(name, "has %d points: must be four", len(c)))
		}
	}
	return recipe.CheckTransform(in, p, errs...)
}

var _ = Ops.Add(recipe.NewOp[RandomPerspective]("random_perspective", recipe.Between,
	"Look at an image from another place, at random, as torchvision's 'RandomPerspective'.").
	Explained("", ".random_perspective()", ".random_perspective(0.2, p=1, fill=127)").
	Called("distortion_scale, p").
	Replacing("RandomPerspective(distortion_scale, p)").Telling("moved", "corners"))

// RandomPerspective are the arguments of the operation random_perspective.
type RandomPerspective struct {
	DistortionScale *float64 `json:"distortion_scale,omitempty" min:"0" max:"1" default:"0.5"`
	P               *float64 `json:"p,omitempty" min:"0" max:"1" default:"0.5" doc:"the probability"`
	Filter          string   `json:"filter,omitempty" choices:"nearest,bilinear,bicubic" default:"bilinear"`
	Fill            Fill     `json:"fill,omitempty" default:"0"`

	recipe.On
}

// Docs implements [argument.Documented].
func (*RandomPerspective) Docs() map[string]string {
	return ofWarps("center expand", map[string]string{
		"distortion_scale": "how far each corner moves inwards at most, as a share of half the width and half the height",
	})
}

// Refused implements [recipe.Refuser].
func (*RandomPerspective) Refused() map[string]string { return torchvisionsNames }

// Transform implements [recipe.Transform].
func (p *RandomPerspective) Transform() media.Op {
	return media.RandomPerspective{Distortion: *p.DistortionScale, P: *p.P, Filter: filter(p.Filter), Fill: p.Fill.color()}
}

// Check implements [recipe.Args].
func (p *RandomPerspective) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, p, p.Fill.check(in, p.Images(in)))
}
