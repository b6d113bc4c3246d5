package image

import (
	"fmt"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[ResizeToBucket]("resize_to_bucket", recipe.Between,
	"Resize to cover the size whose proportions are nearest, and crop the middle.").Explained(`
With several sizes, each batch holds images of one size. Operations in between must keep the size, or change each to
another; a crop or resize to one size makes all batches alike again.`,
	".resize_to_bucket([[256, 256], [256, 384], [384, 256]])"))

// ResizeToBucket are the arguments of the operation resize_to_bucket.
type ResizeToBucket struct {
	Sizes  []recipe.Size `json:"sizes,omitzero" required:"true" example:"[[224, 224]]"`
	Filter string        `json:"filter,omitempty" choices:"bilinear,box,hamming,bicubic,lanczos,nearest" default:"bilinear"`

	recipe.On
}

// Docs implements [argument.Documented].
func (*ResizeToBucket) Docs() map[string]string {
	return map[string]string{
		"sizes":  "[height, width] of each; if two are equally near, the first is used",
		"filter": "the filter, as in Pillow; masks always use nearest",
	}
}

// Complete implements [recipe.Completer].
func (r ResizeToBucket) Complete() recipe.Args {
	sizes := make([]recipe.Size, len(r.Sizes))
	for i, s := range r.Sizes {
		sizes[i] = s.Square()
	}
	if r.Sizes != nil {
		r.Sizes = sizes
	}
	return &r
}

// Transform implements [recipe.Transform].
func (r *ResizeToBucket) Transform() media.Op {
	op := media.ResizeToBucket{Filter: filter(r.Filter)}
	for _, s := range r.Sizes {
		height, width := s.Both()
		op.Sizes = append(op.Sizes, media.Size{Height: height, Width: width})
	}
	return op
}

// Buckets implements [recipe.Bucketing].
func (r *ResizeToBucket) Buckets() []recipe.Size { return r.Sizes }

// Check implements [recipe.Args].
func (r *ResizeToBucket) Check(in sample.Schema) (sample.Schema, error) {
	var errs []error
	if r.Sizes != nil && len(r.Sizes) == 0 {
		errs = append(errs, recipe.Wrong("sizes", "is empty: give at least one [height, width]"))
	}
	for i, s := range r.Sizes {
		if s.IsZero() {
			errs = append(errs, recipe.Wrong(fmt.Sprintf("sizes[%d]", i), "is 0: must be [height, width]"))
		}
	}
	return recipe.CheckTransform(in, r, errs...)
}

// Refused implements [recipe.Refuser].
func (*ResizeToBucket) Refused() map[string]string { return torchvisionsNames }
