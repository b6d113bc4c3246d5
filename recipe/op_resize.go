package recipe

import (
	"cmp"
	"fmt"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/sample"
)

var resizeOp = NewOp[Resize]("resize", Between, "Resize an image, antialiased.").
	Explained("", `.resize((480, 640), fit="pad", fill=114)    # a letterbox`).Called("size, max_size")

// Resize are the arguments of the operation resize.
type Resize struct {
	Size    Size   `json:"size,omitzero" required:"true" example:"256" doc:"length of the shorter edge, or [height, width]. With a fit other than 'short', one number means both"`
	MaxSize int    `json:"max_size,omitempty" min:"0" doc:"limit for the longer edge; by default none"`
	Filter  string `json:"filter,omitempty" choices:"bilinear,box,hamming,bicubic,lanczos,nearest" default:"bilinear" doc:"the filter, as in Pillow; masks always use nearest"`
	Fit     string `json:"fit,omitempty" choices:"short,stretch,pad,crop" doc:"short: the shorter edge gets the size, the default with one number; stretch: to the size, the default with height and width; pad: into the size, the rest is fill, as Pillow's 'ImageOps.pad'; crop: over the size, the rest is cut off, as 'ImageOps.fit'"`
	Anchor  string `json:"anchor,omitempty" choices:"center,top_left,top,top_right,left,right,bottom_left,bottom,bottom_right" doc:"where the image is (pad), or the part to keep (crop); by default 'center'"`
	Fill    Fill   `json:"fill,omitempty" doc:"with 'pad', the colour of the rest: one number, or one per channel; by default 0"`

	On
}

// Complete implements [Completer].
func (r Resize) Complete() Args {
	r.Fit = r.fit()
	switch r.Fit {
	case "pad":
		r.Size, r.Anchor = r.Size.Square(), cmp.Or(r.Anchor, usualAnchor)
		if r.Fill == nil {
			r.Fill = Fill{0}
		}
	case "crop":
		r.Size, r.Anchor = r.Size.Square(), cmp.Or(r.Anchor, usualAnchor)
	case "stretch":
		r.Size.Height, r.Size.Width = r.Size.Both() // one form with the size alone
	}
	return &r
}

// Identity implements [Identifier].
func (r Resize) Identity(Recipe) Args {
	r.Filter = argument.Unless(r.Filter, usualFilter)
	r.Fit = argument.Unless(r.Fit, r.Size.usualFit())
	return &r
}

// fit says how the size is to be met.
func (r Resize) fit() string { return cmp.Or(r.Fit, r.Size.usualFit()) }

// usualFit is that of a resize that says nothing else.
func (s Size) usualFit() string {
	if s.Width != 0 {
		return "stretch"
	}
	return "short"
}

// Transform implements [Transform].
func (r *Resize) Transform() media.Op {
	height, width := r.Size.Both()
	switch f := filter(r.Filter); r.fit() {
	case "stretch":
		return media.ResizeExact{Height: height, Width: width, Filter: f}
	case "pad":
		return media.ResizePad{Height: height, Width: width, Filter: f, Anchor: anchor(r.Anchor), Fill: r.Fill.color()}
	case "crop":
		return media.ResizeCrop{Height: height, Width: width, Filter: f, Anchor: anchor(r.Anchor)}
	default:
		return media.Resize{Size: r.Size.Height, MaxSize: r.MaxSize, Filter: f}
	}
}

// Check implements [Args].
func (r *Resize) Check(in sample.Schema) (sample.Schema, error) {
	fit := r.fit()
	var errs []error
	wrong := func(is bool, name, why string, args ...any) {
		if is {
			errs = append(errs, Wrong(name, why, args...))
		}
	}
	wrong(fit == "short" && r.Size.Width != 0, "fit", `is "short", but size says both height and width`)
	switch {
	case r.MaxSize != 0 && r.Size.Width != 0:
		wrong(true, "max_size", "is %d, but size says both height and width", r.MaxSize)
	case r.MaxSize != 0:
		wrong(fit != "short", "max_size", `is %d, but fit is %q: it is about the longer edge, with "short"`, r.MaxSize, fit)
		wrong(fit == "short" && r.MaxSize <= r.Size.Height, "max_size", "is %d and size is %d: the longer edge must be allowed more than the shorter one gets; for %[2]d × %[1]d pixels write one size, [%[2]d, %[1]d]", r.MaxSize, r.Size.Height)
	}
	wrong(r.Anchor != "" && fit != "pad" && fit != "crop", "anchor", `is %q, but fit is %q: it is for "pad" and "crop"`, r.Anchor, fit)
	wrong(r.Fill != nil && fit != "pad", "fill", `is %s, but fit is %q: it is for "pad"`, argument.Written(r.Fill), fit)
	return CheckTransform(in, r, append(errs, r.Fill.check(in, r.Images(in)))...)
}

var resizeToBucketOp = NewOp[ResizeToBucket]("resize_to_bucket", Between, "Resize to cover the size whose proportions are nearest, and crop the middle.").Explained(`
With several sizes, each batch holds images of one size. Operations in between must keep the size, or change each to another; a crop or resize to
one size makes all batches alike again.`,
	".resize_to_bucket([[256, 256], [256, 384], [384, 256]])")

// ResizeToBucket are the arguments of the operation resize_to_bucket.
type ResizeToBucket struct {
	Sizes  []Size `json:"sizes,omitzero" required:"true" example:"[[224, 224]]" doc:"[height, width] of each; if two are equally near, the first is used"`
	Filter string `json:"filter,omitempty" choices:"bilinear,box,hamming,bicubic,lanczos,nearest" default:"bilinear" doc:"the filter, as in Pillow; masks always use nearest"`

	On
}

// Complete implements [Completer].
func (r ResizeToBucket) Complete() Args {
	sizes := make([]Size, len(r.Sizes))
	for i, s := range r.Sizes {
		sizes[i] = s.Square()
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
		height, width := s.Both()
		op.Sizes = append(op.Sizes, media.Size{Height: height, Width: width})
	}
	return op
}

// Buckets implements [Bucketing].
func (r *ResizeToBucket) Buckets() []Size { return r.Sizes }

// Check implements [Args].
func (r *ResizeToBucket) Check(in sample.Schema) (sample.Schema, error) {
	var errs []error
	if r.Sizes != nil && len(r.Sizes) == 0 {
		errs = append(errs, Wrong("sizes", "is empty: give at least one [height, width]"))
	}
	for i, s := range r.Sizes {
		if s.IsZero() {
			errs = append(errs, Wrong(fmt.Sprintf("sizes[%d]", i), "is 0: must be [height, width]"))
		}
	}
	return CheckTransform(in, r, errs...)
}

// torchvisionsNames are refused with what they are called here.
var torchvisionsNames = map[string]string{"interpolation": "it is called filter", "antialias": "every resize is antialiased"}

// Refused implements [Refuser].
func (*Resize) Refused() map[string]string { return torchvisionsNames }

// Refused implements [Refuser].
func (*ResizeToBucket) Refused() map[string]string { return torchvisionsNames }

// Refused implements [Refuser].
func (*RandomResizedCrop) Refused() map[string]string { return torchvisionsNames }

// usualFilter is that of every resize that names none.
const usualFilter = "bilinear"

// filter returns the filter of a name that was checked.
func filter(name string) media.Filter {
	f, _ := media.ParseFilter(name)
	return f
}
