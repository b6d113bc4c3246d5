package image

import (
	"context"
	"errors"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[Mosaic]("mosaic", recipe.Between,
	"Put parts of four images of a batch into each, with their boxes, as YOLO's mosaic.").
	Explained(`
It comes after 'batch', or after 'bucket_batch', which pads boxes. The parts meet at a random point of the image: its own
is at the upper left, and those of the three images before it in the batch follow. No pixel is resampled. There is room
for the boxes of four images.`,
		`.boxes(along="labels")`, `.random_resized_crop(640).bucket_batch([16], size=16)`, `.mosaic(boxes="boxes", along="labels")`).
	Called("boxes, along, p").
	Telling("x", "y"))

// Mosaic are the arguments of the operation mosaic.
type Mosaic struct {
	P             *float64 `json:"p,omitempty" min:"0" max:"1" default:"1" doc:"the probability with which an image becomes a mosaic"`
	MinVisibility *float64 `json:"min_visibility,omitempty" min:"0" max:"1" default:"0.1"`
	Group         *int     `json:"group,omitempty" min:"1" max:"1000000" example:"32"`
	Image         string   `json:"image,omitempty" default:"image" doc:"the images, uint8 or float32"`
	PaddedBoxes
	Layout string `json:"layout,omitempty" choices:"NHWC,NCHW" doc:"the axes of images; by default as the number of channels says"`
}

// Docs implements [argument.Documented].
func (m *Mosaic) Docs() map[string]string {
	docs := m.PaddedBoxes.Docs()
	docs["min_visibility"] = "the share of a box that must be in the mosaic, or it is dropped; so is one of less than a pixel"
	docs["group"] = "so many rows after each other are put together; by default all rows of a batch"
	return docs
}

// Check implements [recipe.Args].
func (m *Mosaic) Check(sample.Schema) (sample.Schema, error) {
	return nil, errors.Join(argument.CheckTags(m), errNoBatch)
}

// CheckRows implements [recipe.OnRows].
func (m *Mosaic) CheckRows(in sample.Schema) (sample.Schema, error) {
	if err := errors.Join(argument.CheckTags(m), checkBatchImages(in, m.Image)); err != nil {
		return nil, err
	}
	return m.checkRows(in, mosaicOf)
}

// mosaicOf is how many images are in each.
const mosaicOf = 4

// mosaic is the part of a recipe that puts images together.
type mosaic struct {
	env    *core.Env
	args   *Mosaic
	name   string
	id     uint64
	images batchImages
	boxes  *boxFields
}

// Link implements [core.Linker].
func (m *Mosaic) Link(w *core.Env, name string, t *core.Scope) (core.Part, error) {
	p := &mosaic{env: w, args: m, name: name, id: order.OpID(name), images: newBatchImages(m.Image, m.Layout, t)}
	var err error
	p.boxes, err = m.link(t, mosaicOf)
	return p, err
}

// Run implements [core.Part].
func (p *mosaic) Run(_ context.Context, it *record.Record, t *core.Tool) error {
	v, size := it.Values, p.images.size()
	is := v.Arrays[p.images.at.At]
	rows := is.Shape[0]
	boxes, err := p.boxes.read(v, rows)
	if err != nil {
		return &core.StepError{Step: p.name, Err: err}
	}
	to := *v.Borrow(&p.env.Images, len(is.Data)) // another field may have the memory of the images

	eachGroup(p.env, it, t, p.id, p.args.Group, rows, func(from, until int, draws *media.Sequence) {
		for i := from; i < until; i++ {
			u, x, y := draws.Next(), int(draws.Next()*float64(p.images.width)), int(draws.Next()*float64(p.images.height))
			// All of it is its own part: of one image there is no partner.
			if until-from == 1 || u >= *p.args.P {
				x, y = p.images.width, p.images.height
			}
			partner := func(k int) int { return from + (i-from+mosaicOf*(until-from)-k)%(until-from) }
			p.put(to[i*size:][:size], is.Data, x, y, i, partner, boxes)
			if p.env.Ledger {
				tellRow(it, p.name, i, map[string]any{"x": x, "y": y}) // where the parts meet
			}
		}
	})
	v.Arrays[p.images.at.At] = record.Array{Shape: is.Shape, Data: to}
	boxes.write(p.env, v, mosaicOf)
	p.env.Settle(it)
	it.Account()
	return nil
}

// put makes the image of a row, of which the parts meet at a place.
func (p *mosaic) put(to, images []byte, x, y, i int, partner func(k int) int, boxes *boxRows) {
	width, height, size := p.images.width, p.images.height, p.images.size()
	for k := range mosaicOf {
		// The part that the image gives, and where it begins in the image.
		at := media.Rect{Width: x, Height: y}
		fromX, fromY := width-x, height-y
		if k%2 == 1 {
			at.X, at.Width, fromX = x, width-x, 0
		}
		if k/2 == 1 {
			at.Y, at.Height, fromY = y, height-y, 0
		}
		row := partner(k)
		p.images.lay(to, at.X, at.Y, at.X+at.Width, at.Y+at.Height, images[row*size:][:size], fromX, fromY)
		for _, box := range boxes.of(row) {
			if b, stays := p.shown(boxes.box(box), at, fromX, fromY); stays {
				boxes.add(i, b, box)
			}
		}
	}
}

// shown returns the part of a box that is in a part of its image, from a place there on,
// and reports whether it is enough.
func (p *mosaic) shown(b media.Bounds, at media.Rect, fromX, fromY int) (media.Bounds, bool) {
	dx, dy := float64(at.X-fromX), float64(at.Y-fromY)
	cut := media.Bounds{
		X0: max(b.X0+dx, float64(at.X)), Y0: max(b.Y0+dy, float64(at.Y)),
		X1: min(b.X1+dx, float64(at.X+at.Width)), Y1: min(b.Y1+dy, float64(at.Y+at.Height)),
	}
	w, h := cut.X1-cut.X0, cut.Y1-cut.Y0
	return cut, w >= leastSide && h >= leastSide && w*h >= *p.args.MinVisibility*(b.X1-b.X0)*(b.Y1-b.Y0)
}

// Foresee implements [core.Part]: batches are accounted for when they are made.
func (p *mosaic) Foresee(*record.Record, *core.Tool) int64 { return 0 }
