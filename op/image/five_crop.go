package image

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

var _ = Ops.Add(recipe.NewOp[FiveCrop]("five_crop", recipe.Between,
	"Cut the four corners and the middle out of an image, for a test by several crops: [5, height, width, channels].").Explained(`
The field becomes an array, so steps on images come before. The order is top left, top right, bottom left, bottom right, middle. A smaller
image is a bad sample, and boxes that go along with the image are refused.`,
	`.resize(256).five_crop(224).batch(32)`).
	Called("size").
	Replacing("FiveCrop(size)"))

// FiveCrop are the arguments of the operation five_crop.
type FiveCrop struct {
	Size  recipe.Size `json:"size,omitzero" required:"true" example:"224" doc:"[height, width], or one number for both"`
	Field string      `json:"field,omitempty" example:"image" doc:"the image, if samples have several"`
}

var _ = Ops.Add(recipe.NewOp[TenCrop]("ten_crop", recipe.Between,
	"Cut five parts out of an image as 'five_crop' does, and then out of its mirror image: [10, height, width, channels].").Explained(`
The field becomes an array, so steps on images come before.`,
	`.resize(256).ten_crop(224).batch(32)`).
	Called("size").
	Replacing("TenCrop(size)"))

// TenCrop are the arguments of the operation ten_crop.
type TenCrop struct {
	Size         recipe.Size `json:"size,omitzero" required:"true" example:"224" doc:"[height, width], or one number for both"`
	VerticalFlip *bool       `json:"vertical_flip,omitempty" default:"false" doc:"the mirror image is upside down, not left to right"`
	Field        string      `json:"field,omitempty" example:"image" doc:"the image, if samples have several"`
}

// Complete implements [recipe.Completer].
func (f FiveCrop) Complete() recipe.Args {
	f.Size = f.Size.Square()
	return &f
}

// Complete implements [recipe.Completer].
func (c TenCrop) Complete() recipe.Args {
	c.Size = c.Size.Square()
	return &c
}

// Check implements [recipe.Args].
func (f *FiveCrop) Check(in sample.Schema) (sample.Schema, error) {
	return checkCrops(in, f, f.Size, f.Field, 5)
}

// Check implements [recipe.Args].
func (c *TenCrop) Check(in sample.Schema) (sample.Schema, error) {
	return checkCrops(in, c, c.Size, c.Field, 10)
}

// checkCrops returns the fields after a step that cuts so many parts out of an image.
func checkCrops(in sample.Schema, args any, size recipe.Size, field string, n int) (sample.Schema, error) {
	on := recipe.On{Field: field}
	if err := errors.Join(argument.CheckTags(args), on.CheckImages(in)); err != nil {
		return nil, err
	}
	name := on.Images(in)[0]
	t := in[in.Find(name)].Type
	form := recipe.ImageForm(t)
	if strings.ContainsAny(t.Axes, "TN") {
		return nil, fmt.Errorf("works on images, but %q has clips, %v", name, t)
	}
	if height, width := size.Square().Both(); form.Height > 0 && form.Height < height || form.Width > 0 && form.Width < width {
		return nil, recipe.Wrong("size", "is [%d, %d], but the images are %d×%d pixels", height, width, form.Width, form.Height)
	}
	return in.Replace(name, sample.Field{Name: name, Type: cropsType(form, size, n)}), nil
}

// cropsType is the type of so many parts of an image.
func cropsType(f media.Form, size recipe.Size, n int) sample.Type {
	f.Height, f.Width = size.Square().Both()
	return sample.TensorType(f.DType, append(tensor.Shape{n}, f.Shape()...)...)
}

// Traits implements [recipe.Traited].
func (f *FiveCrop) Traits() recipe.Traits {
	return recipe.Traits{Content: "image", Cuts: &recipe.On{Field: f.Field}}
}

// Traits implements [recipe.Traited].
func (c *TenCrop) Traits() recipe.Traits {
	return recipe.Traits{Content: "image", Cuts: &recipe.On{Field: c.Field}}
}

// crops is the part of a recipe that cuts several parts out of an image.
type crops struct {
	env           *core.Env
	from, to      record.Column
	is            sample.Type
	height, width int
	upside        bool
}

// Link implements [core.Linker].
func (f *FiveCrop) Link(w *core.Env, _ string, t *core.Scope) (core.Part, error) {
	return linkCrops(w, t, f.Size, f.Field, 5, false), nil
}

// Link implements [core.Linker].
func (c *TenCrop) Link(w *core.Env, _ string, t *core.Scope) (core.Part, error) {
	return linkCrops(w, t, c.Size, c.Field, 10, *c.VerticalFlip), nil
}

func linkCrops(w *core.Env, t *core.Scope, size recipe.Size, field string, n int, upside bool) core.Part {
	name := recipe.On{Field: field}.Images(t.Schema)[0]
	p := &crops{env: w, upside: upside, is: cropsType(recipe.ImageForm(t.Schema[t.Schema.Find(name)].Type), size, n)}
	p.height, p.width = size.Square().Both()
	p.from, p.to = t.Decoded(name, name, p.is)
	return p
}

// Run implements [core.Part].
func (p *crops) Run(_ context.Context, it *record.Record, _ *core.Tool) error {
	v := it.Values
	image := v.Images[p.from.At]
	if image.Height < p.height || image.Width < p.width {
		return fmt.Errorf("headrace: crops of %d×%d pixels do not fit into an image of %d×%d: resize before them",
			p.width, p.height, image.Width, image.Height)
	}
	count := p.is.Shape[0]
	bytes, _ := p.is.Shape.Bytes(p.is.DType) // checked with the recipe
	data := *v.Borrow(&p.env.Images, int(bytes))
	size := len(data) / count
	for i := range count {
		p.cut(data[i*size:][:size], image, i)
	}
	v.Forget(p.from)
	v.Arrays[p.to.At] = record.Array{Shape: p.is.Shape, Data: data}
	p.env.Settle(it)
	it.Account()
	return nil
}

// cut writes part i. A part of the mirror image is one of the image, mirrored.
func (p *crops) cut(to []byte, image record.Image, i int) {
	right, down := image.Width-p.width, image.Height-p.height
	places := [5][2]int{{0, 0}, {right, 0}, {0, down}, {right, down}, {half(right), half(down)}}
	x, y := places[i%5][0], places[i%5][1]
	mirrored, upside := i >= 5 && !p.upside, i >= 5 && p.upside
	if mirrored {
		x = right - x
	}
	if upside {
		y = down - y
	}

	// With channels side by side there is one plane, of larger pixels.
	pixel, planes := image.DType.Size(), image.Color.Channels()
	if image.Layout == media.HWC {
		pixel, planes = pixel*planes, 1
	}
	row := p.width * pixel
	for plane := range planes {
		for k := range p.height {
			from := y + k
			if upside {
				from = y + p.height - 1 - k
			}
			in := image.Data[(plane*image.Height+from)*image.Stride+x*pixel:][:row]
			out := to[(plane*p.height+k)*row:][:row]
			if !mirrored {
				copy(out, in)
				continue
			}
			for at := 0; at < row; at += pixel {
				copy(out[row-pixel-at:][:pixel], in[at:])
			}
		}
	}
}

// half returns the first pixel of a part in the middle that leaves so many: halves go to
// the even number, as Python rounds.
func half(spare int) int { return int(math.RoundToEven(float64(spare) / 2)) }

// Foresee implements [core.Part].
func (p *crops) Foresee(_ *record.Record, t *core.Tool) int64 {
	bytes, _ := p.is.Shape.Bytes(p.is.DType) // checked with the recipe
	if p.from.Kind == record.Images {
		t.Put(p.from.At, media.Form{})
	}
	return bytes
}
