package image

import (
	"cmp"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[Resize]("resize", recipe.Between, "Resize an image, antialiased.").
	Explained("", `.resize((480, 640), fit="pad", fill=114)    # a letterbox`).Called("size, max_size").
	Replacing("Resize(256)", "Resize((224, 224))"))

// Resize are the arguments of the operation resize.
type Resize struct {
	Size    recipe.Size `json:"size,omitzero" required:"true" example:"256"`
	MaxSize int         `json:"max_size,omitempty" min:"0" doc:"limit for the longer edge; by default none"`
	Filter  string      `json:"filter,omitempty" choices:"bilinear,box,hamming,bicubic,lanczos,nearest" default:"bilinear"`
	Fit     string      `json:"fit,omitempty" choices:"short,stretch,pad,crop"`
	Anchor  string      `json:"anchor,omitempty" choices:"center,top_left,top,top_right,left,right,bottom_left,bottom,bottom_right"`
	Fill    Fill        `json:"fill,omitempty" doc:"with 'pad', the colour of the rest: one number, or one per channel; by default 0"`

	recipe.On
}

// Docs implements [argument.Documented].
func (*Resize) Docs() map[string]string {
	return map[string]string{
		"size": "length of the shorter edge, or [height, width]. With a fit other than 'short', one number means " +
			"both",
		"filter": "the filter, as in Pillow; masks always use nearest",
		"fit": "short: the shorter edge gets the size, the default with one number; stretch: to the size, the " +
			"default with height and width; pad: into the size, the rest is fill, as Pillow's 'ImageOps.pad'; " +
			"crop: over the size, the rest is cut off, as 'ImageOps.fit'",
		"anchor": "where the image is (pad), or the part to keep (crop); by default 'center'",
	}
}

// Complete implements [recipe.Completer].
func (r Resize) Complete() recipe.Args {
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

// Identity implements [recipe.Identifier].
func (r Resize) Identity(recipe.Recipe) recipe.Args {
	r.Filter = argument.Unless(r.Filter, usualFilter)
	r.Fit = argument.Unless(r.Fit, usualFit(r.Size))
	return &r
}

// fit says how the size is to be met.
func (r Resize) fit() string { return cmp.Or(r.Fit, usualFit(r.Size)) }

// usualFit is that of a resize that says nothing else.
func usualFit(s recipe.Size) string {
	if s.Width != 0 {
		return "stretch"
	}
	return "short"
}

// Transform implements [recipe.Transform].
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

// Check implements [recipe.Args].
func (r *Resize) Check(in sample.Schema) (sample.Schema, error) {
	fit := r.fit()
	var errs []error
	wrong := func(is bool, name, why string, args ...any) {
		if is {
			errs = append(errs, recipe.Wrong(name, why, args...))
		}
	}
	wrong(fit == "short" && r.Size.Width != 0, "fit", `is "short", but size says both height and width`)
	switch {
	case r.MaxSize != 0 && r.Size.Width != 0:
		wrong(true, "max_size", "is %d, but size says both height and width", r.MaxSize)
	case r.MaxSize != 0:
		wrong(fit != "short", "max_size", `is %d, but fit is %q: it is about the longer edge, with "short"`, r.MaxSize, fit)
		wrong(fit == "short" && r.MaxSize <= r.Size.Height, "max_size", "is %d and size is %d: "+
			"the longer edge must be allowed more than the shorter one gets; for %[2]d × %[1]d pixels write one size, "+
			"[%[2]d, %[1]d]", r.MaxSize, r.Size.Height)
	}
	wrong(r.Anchor != "" && fit != "pad" && fit != "crop", "anchor", `is %q, but fit is %q: it is for "pad" and "crop"`, r.Anchor, fit)
	wrong(r.Fill != nil && fit != "pad", "fill", `is %s, but fit is %q: it is for "pad"`, argument.Written(r.Fill), fit)
	return recipe.CheckTransform(in, r, append(errs, r.Fill.check(in, r.Images(in)))...)
}

// Refused implements [recipe.Refuser].
func (*Resize) Refused() map[string]string { return torchvisionsNames }
