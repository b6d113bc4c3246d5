package image

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

var _ = Ops.Add(recipe.NewOp[Boxes]("boxes", recipe.Between,
	"Tie boxes to an image: later steps move them with its pixels, and drop those that leave it.").Explained(`
Boxes are cut at the edge. If less than a pixel of width or height is left, the box is dropped, with its row in the
fields 'along' with it, as by torchvision's transforms followed by 'SanitizeBoundingBoxes'. Coordinates are pixels of
the image at this step, upright if 'decode_image' turned it.`,
	`.decode_image()`,
	`.boxes(along="labels")`,
	`.random_resized_crop(512)`,
	`.random_flip()`,
	`.bucket_batch([8, 32, 128], size=16)`))

// Boxes are the arguments of the operation boxes.
type Boxes struct {
	Field string   `json:"field,omitempty" default:"boxes"`
	Along []string `json:"along,omitzero" example:"[\"labels\"]"`
	Image string   `json:"image,omitempty" default:"image" doc:"the image"`
}

// Docs implements [argument.Documented].
func (*Boxes) Docs() map[string]string {
	return map[string]string{
		"field": "the boxes, 'float32' or 'float64 [n, 4]': left, top, right, bottom edge in pixels. n may differ " +
			"between samples",
		"along": "fields with a row for each box, such as labels: they lose the rows of dropped boxes",
	}
}

// Check implements [recipe.Args].
func (b *Boxes) Check(in sample.Schema) (sample.Schema, error) {
	b = recipe.Completed(b).(*Boxes)
	errs := []error{argument.CheckNames("along", b.Along)}
	find := func(arg, name string, takes string, fits func(sample.Type) bool) {
		switch i := in.Find(name); {
		case i < 0:
			errs = append(errs, recipe.Wrong(arg, "is an %w", words.Unknown("field", name, in.Names())))
		case !fits(in[i].Type):
			errs = append(errs, recipe.Wrong(arg, "is %q, which is %v: must be %s", name, in[i].Type, takes))
		}
	}
	find("field", b.Field, "float32 or float64 [?, 4]: the edges of each box", func(t sample.Type) bool {
		isFloat := t.DType == tensor.Float32 || t.DType == tensor.Float64
		return t.Kind == sample.Tensor && isFloat && slices.Equal(t.Shape, tensor.Shape{tensor.Unknown, 4})
	})
	find("image", b.Image, "an image; put decode_image before it", func(t sample.Type) bool {
		return recipe.IsImage(t) && !strings.ContainsAny(t.Axes, "TN")
	})
	for i, name := range b.Along {
		find(fmt.Sprintf("along[%d]", i), name, "an array with a row for each box", sample.Type.Ragged)
	}
	return in, errors.Join(errs...)
}

// Traits implements [recipe.Traited].
func (b *Boxes) Traits() recipe.Traits {
	return recipe.Traits{Tied: &recipe.Tied{Field: b.Field, Along: b.Along, Image: b.Image}}
}
