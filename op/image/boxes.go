package image

import (
	"cmp"
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
the image at this step, upright if 'decode_image' turned it. A box that may be turned stays a rectangle of some angle, and one that is
cut is the least around what is left of it.`,
	`.decode_image()`,
	`.boxes(along="labels")  # or format="XYWH", as COCO has them`,
	`.random_resized_crop(512)`,
	`.random_flip()`,
	`.bucket_batch([8, 32, 128], size=16)`))

// Boxes are the arguments of the operation boxes.
type Boxes struct {
	Field  string   `json:"field,omitempty" default:"boxes"`
	Along  []string `json:"along,omitzero" example:"[\"labels\"]"`
	Image  string   `json:"image,omitempty" default:"image" doc:"the image"`
	Format string   `json:"format,omitempty" choices:"XYXY,XYWH,CXCYWH,XYWHR,CXCYWHR,XYXYXYXY"`
}

// Docs implements [argument.Documented].
func (*Boxes) Docs() map[string]string {
	return map[string]string{
		"field": "the boxes, 'float32' or 'float64 [n, 4]': left, top, right, bottom edge in pixels. n may differ " +
			"between samples",
		"format": "what the 4, 5 or 8 numbers of a box are, by torchvision's names: corners (X, Y), its middle (CX, CY), sides (W, H) " +
			"and an angle in degrees, counter-clockwise (R). By default 'XYXY'",
		"along": "fields with a row for each box, such as labels: they lose the rows of dropped boxes",
	}
}

// Check implements [recipe.Args].
func (b *Boxes) Check(in sample.Schema) (sample.Schema, error) {
	b = recipe.Completed(b).(*Boxes)
	errs := []error{
		argument.CheckNames("along", b.Along),
		argument.CheckTags(b),
		b.checkField(in),
		fits(in, "image", b.Image, ofTied, isTiable),
	}
	for i, name := range b.Along {
		errs = append(errs, fits(in, fmt.Sprintf("along[%d]", i), name, "an array with a row for each box", sample.Type.Ragged))
	}
	return in, errors.Join(errs...)
}

// format is not completed, so that recipes without it stay the same.
func (b *Boxes) format() string { return cmp.Or(b.Format, "XYXY") }

func (b *Boxes) checkField(in sample.Schema) error {
	format, is := boxFormats[b.format()]
	if !is {
		return nil // which is said already
	}
	takes := fmt.Sprintf("float32 or float64 [?, %d]: %s of each box", format.numbers, b.Format)
	if b.format() == "XYXY" {
		takes = "float32 or float64 [?, 4]: the edges of each box"
	}
	return fits(in, "field", b.Field, takes, func(t sample.Type) bool {
		return isFloats(t) && slices.Equal(t.Shape, tensor.Shape{tensor.Unknown, format.numbers})
	})
}

// fits checks a field that an argument names.
func fits(in sample.Schema, arg, name, takes string, does func(sample.Type) bool) error {
	switch i := in.Find(name); {
	case i < 0:
		return recipe.Wrong(arg, "is an %w", words.Unknown("field", name, in.Names()))
	case !does(in[i].Type):
		return recipe.Wrong(arg, "is %q, which is %v: must be %s", name, in[i].Type, takes)
	}
	return nil
}

// ofTied says what boxes and points are tied to.
const ofTied = "an image; put decode_image before it"

func isTiable(t sample.Type) bool { return recipe.IsImage(t) && !strings.ContainsAny(t.Axes, "TN") }

func isFloats(t sample.Type) bool {
	return t.Kind == sample.Tensor && (t.DType == tensor.Float32 || t.DType == tensor.Float64)
}

// Traits implements [recipe.Traited].
func (b *Boxes) Traits() recipe.Traits {
	return recipe.Traits{Tied: &recipe.Tied{Field: b.Field, Along: b.Along, Image: b.Image, Format: b.format()}}
}
