package recipe

import (
	"cmp"
	"fmt"

	"headrace/media"
	"headrace/recipe/internal/argument"
	"headrace/sample"
)

var resizeOp = operation[Resize]("resize", Between, "Resizes, antialiased.")

// Resize are the arguments of the operation resize.
type Resize struct {
	Size    Size   `json:"size,omitzero" required:"true" example:"256" doc:"the length that the shorter edge gets; or [height, width]"`
	MaxSize int    `json:"max_size,omitempty" min:"0" doc:"the length that the longer edge must not exceed; by default it may"`
	Filter  string `json:"filter,omitempty" choices:"bilinear,box,hamming,bicubic,lanczos" doc:"\"bilinear\", the default, \"box\", \"hamming\", \"bicubic\" or \"lanczos\""`
}

func (r Resize) complete() Args {
	r.Filter = cmp.Or(r.Filter, usualFilter)
	return &r
}

func (r Resize) identity(Recipe) Args {
	r.Filter = unless(r.Filter, usualFilter)
	return &r
}

// Transform implements [Transform].
func (r *Resize) Transform() media.Op {
	if r.Size.Width != 0 {
		return media.ResizeExact{Height: r.Size.Height, Width: r.Size.Width, Filter: filter(r.Filter)}
	}
	return media.Resize{Size: r.Size.Height, MaxSize: r.MaxSize, Filter: filter(r.Filter)}
}

// Check implements [Args].
func (r *Resize) Check(in sample.Schema) (sample.Schema, error) {
	var both error
	if r.MaxSize != 0 && r.Size.Width != 0 {
		both = Wrong("max_size", "is %d, but size says both height and width", r.MaxSize)
	}
	return checkTransform(in, r, argument.Given("size", r.Size.given()), both, checkFilter(r, r.Filter))
}

var resizeToBucketOp = operation[ResizeToBucket]("resize_to_bucket", Between, "Resizes to that of several sizes whose proportions are nearest, so that it is covered, and cuts out the middle.")

// ResizeToBucket are the arguments of the operation resize_to_bucket.
type ResizeToBucket struct {
	Sizes  []Size `json:"sizes,omitzero" required:"true" example:"[[224, 224]]" doc:"the sizes, each [height, width]; of two that are as near, the first is taken"`
	Filter string `json:"filter,omitempty" choices:"bilinear,box,hamming,bicubic,lanczos" doc:"\"bilinear\", the default, \"box\", \"hamming\", \"bicubic\" or \"lanczos\""`
}

func (r ResizeToBucket) complete() Args {
	r.Filter = cmp.Or(r.Filter, usualFilter)
	sizes := make([]Size, len(r.Sizes))
	for i, s := range r.Sizes {
		sizes[i] = s.square()
	}
	if r.Sizes != nil {
		r.Sizes = sizes
	}
	return &r
}

// Transform implements [Transform].
func (r *ResizeToBucket) Transform() media.Op {
	op := media.ResizeToBucket{Filter: filter(r.Filter)}
	for _, s := range r.Sizes {
		height, width := s.both()
		op.Sizes = append(op.Sizes, media.Size{Height: height, Width: width})
	}
	return op
}

// buckets implements [bucketing].
func (r *ResizeToBucket) buckets() []Size { return r.Sizes }

// Check implements [Args].
func (r *ResizeToBucket) Check(in sample.Schema) (sample.Schema, error) {
	errs := []error{argument.Given("sizes", r.Sizes != nil), checkFilter(r, r.Filter)}
	if r.Sizes != nil && len(r.Sizes) == 0 {
		errs = append(errs, Wrong("sizes", "is empty: takes at least one [height, width]"))
	}
	for i, s := range r.Sizes {
		if !s.given() {
			errs = append(errs, Wrong(fmt.Sprintf("sizes[%d]", i), "is 0: takes [height, width]"))
		}
	}
	return checkTransform(in, r, errs...)
}

// torchvisionsNames are refused with what they are called here.
var torchvisionsNames = map[string]string{"interpolation": "it is called filter", "antialias": "every resize is antialiased"}

func (*Resize) refused() map[string]string            { return torchvisionsNames }
func (*ResizeToBucket) refused() map[string]string    { return torchvisionsNames }
func (*RandomResizedCrop) refused() map[string]string { return torchvisionsNames }

// usualFilter is that of every resize that names none.
const usualFilter = "bilinear"

// filter returns the filter of a name that was checked, or of none.
func filter(name string) media.Filter {
	f, _ := media.ParseFilter(cmp.Or(name, usualFilter))
	return f
}

func checkFilter(args Args, name string) error {
	return argument.Choice(args, "filter", cmp.Or(name, usualFilter))
}
