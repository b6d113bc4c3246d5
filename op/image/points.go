package image

import (
	"errors"

	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[Points]("points", recipe.Between,
	"Tie points to an image: later steps move them with its pixels, as torchvision's 'KeyPoints'.").Explained(`
Points are moved, not dropped: they may be beyond the edges then. An image may have several fields of points, and one
with a row for each box, that goes along with 'boxes'. As in torchvision, the upper left corner is (0, 0) to all steps
but flips, which take x to width - 1 - x.`,
	`.decode_image()`,
	`.boxes(along=["labels", "joints"])`,
	`.points("joints")  # [n, 17, 2]`,
	`.random_affine(30).random_flip()`))

// Points are the arguments of the operation points.
type Points struct {
	Field string `json:"field,omitempty" default:"points"`
	Image string `json:"image,omitempty" default:"image" doc:"the image"`
}

// Docs implements [argument.Documented].
func (*Points) Docs() map[string]string {
	return map[string]string{
		"field": "the points, 'float32' or 'float64', in pixels across and down: '[n, 2]', or with more axes, '[n, 17, 2]'. " +
			"A third number for each point, such as COCO's visibility, stays as it is",
	}
}

// Check implements [recipe.Args].
func (p *Points) Check(in sample.Schema) (sample.Schema, error) {
	p = recipe.Completed(p).(*Points)
	const takes = "float32 or float64 [..., 2], or [..., 3]: each point across and down"
	return in, errors.Join(
		fits(in, "field", p.Field, takes, func(t sample.Type) bool {
			last := len(t.Shape) - 1
			if !isFloats(t) || t.Axes != "" || last < 1 {
				return false
			}
			return t.Shape[last] == 2 || t.Shape[last] == 3
		}),
		fits(in, "image", p.Image, ofTied, isTiable))
}

// Traits implements [recipe.Traited].
func (p *Points) Traits() recipe.Traits {
	return recipe.Traits{Tied: &recipe.Tied{Field: p.Field, Image: p.Image, Points: true}}
}
