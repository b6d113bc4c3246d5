package image

import (
	"context"
	"encoding/binary"
	"errors"
	"math"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

var _ = Ops.Add(recipe.NewOp[CopyPaste]("copy_paste", recipe.Between,
	"Lay objects of the image before it in the batch over each image, with their masks and boxes.").
	Explained(`
It comes after 'batch', or after 'bucket_batch', which pads boxes. A mask has a number for each pixel: the class of its
object, or with boxes that of its box, from 1 on; 0 is none, and numbers beyond the boxes are never copied. Hidden boxes
are dropped, and partly hidden ones end where their pixels do.`,
		`.batch(16)`, `.copy_paste(p=0.5)`).
	Called("p, mask, boxes, along").
	Telling("objects"))

// CopyPaste are the arguments of the operation copy_paste.
type CopyPaste struct {
	P     *float64 `json:"p,omitempty" min:"0" max:"1" default:"0.5" doc:"the probability of each object to be copied"`
	Mask  string   `json:"mask,omitempty" default:"mask" doc:"the masks, 'uint8' or 'uint16 [rows, height, width]'"`
	Group *int     `json:"group,omitempty" min:"1" max:"1000000" example:"32"`
	Image string   `json:"image,omitempty" default:"image" doc:"the images, uint8 or float32"`
	PaddedBoxes
	Layout string `json:"layout,omitempty" choices:"NHWC,NCHW" doc:"the axes of images; by default as the number of channels says"`
}

// Docs implements [argument.Documented].
func (c *CopyPaste) Docs() map[string]string {
	docs := c.PaddedBoxes.Docs()
	docs["group"] = "so many rows after each other are copied among themselves; by default all rows of a batch"
	return docs
}

// Check implements [recipe.Args].
func (c *CopyPaste) Check(sample.Schema) (sample.Schema, error) {
	return nil, errors.Join(argument.CheckTags(c), errNoBatch)
}

// CheckRows implements [recipe.OnRows].
func (c *CopyPaste) CheckRows(in sample.Schema) (sample.Schema, error) {
	if err := errors.Join(argument.CheckTags(c), checkBatchImages(in, c.Image), checkBatchField(in, "mask", c.Mask)); err != nil {
		return nil, err
	}
	images, t := imagesOf(in[in.Find(c.Image)].Type, c.Layout), in[in.Find(c.Mask)].Type
	numbers := t.Kind == sample.Tensor && (t.DType == tensor.Uint8 || t.DType == tensor.Uint16)
	if !numbers || len(t.Shape) != 3 || t.Shape[1] != images.height || t.Shape[2] != images.width {
		return nil, recipe.Wrong("mask", "is %q, which is %v: must be uint8 or uint16 [rows, %d, %d], as the images are",
			c.Mask, t, images.height, images.width)
	}
	return c.checkRows(in, copiesOf)
}

// copiesOf is how many images a result has objects of.
const copiesOf = 2

// copying is the part of a recipe that copies objects.
type copying struct {
	env    *core.Env
	args   *CopyPaste
	name   string
	id     uint64
	images batchImages
	mask   record.Column
	wide   bool // masks are uint16
	boxes  *boxFields
}

// Link implements [core.Linker].
func (c *CopyPaste) Link(w *core.Env, name string, t *core.Scope) (core.Part, error) {
	p := &copying{env: w, args: c, name: name, id: order.OpID(name), images: newBatchImages(c.Image, c.Layout, t)}
	p.mask, p.wide = t.Columns.Of[c.Mask], t.Schema[t.Schema.Find(c.Mask)].Type.DType == tensor.Uint16
	var err error
	p.boxes, err = c.link(t, copiesOf)
	return p, err
}

// Run implements [core.Part].
func (p *copying) Run(_ context.Context, it *record.Record, t *core.Tool) error {
	v := it.Values
	images, masks := v.Arrays[p.images.at.At], v.Arrays[p.mask.At]
	rows := images.Shape[0]
	boxes, err := p.boxes.read(v, rows)
	if err != nil {
		return &core.StepError{Step: p.name, Err: err}
	}
	to, toMasks := p.env.Copied(v, images.Data), p.env.Copied(v, masks.Data) // others may have the same memory
	size, maskSize := p.images.size(), len(masks.Data)/max(rows, 1)

	eachGroup(p.env, it, t, p.id, p.args.Group, rows, func(from, until int, draws *media.Sequence) {
		for i := from; i < until; i++ {
			before := i - 1
			if before < from {
				before = until - 1
			}
			c := copied{
				copying: p, row: i, before: before, boxes: boxes,
				image: to[i*size:][:size], mask: toMasks[i*maskSize:][:maskSize],
				fromImage: images.Data[before*size:][:size], fromMask: masks.Data[before*maskSize:][:maskSize],
			}
			n := 0
			// Of one image there is no other.
			if before != i {
				n = c.draw(draws)
			}
			c.paste(n > 0)
			if p.env.Ledger {
				tellRow(it, p.name, i, map[string]any{"objects": n})
			}
		}
	})
	v.Arrays[p.images.at.At] = record.Array{Shape: images.Shape, Data: to}
	v.Arrays[p.mask.At] = record.Array{Shape: masks.Shape, Data: toMasks}
	boxes.write(p.env, v, copiesOf)
	p.env.Settle(it)
	it.Account()
	return nil
}

// Foresee implements [core.Part]: batches are accounted for when they are made.
func (p *copying) Foresee(*record.Record, *core.Tool) int64 { return 0 }

// copied is one image that gets objects of another one.
type copied struct {
	*copying
	row, before      int
	boxes            *boxRows
	image, fromImage []byte
	mask, fromMask   []byte
	objects          []bool // by their numbers in the other mask: which are copied
	given            []int  // by their numbers in the other mask: what they get here
}

// number returns the number of a pixel of a mask.
func (c *copied) number(mask []byte, i int) int {
	if c.wide {
		return int(binary.NativeEndian.Uint16(mask[2*i:]))
	}
	return int(mask[i])
}

func (c *copied) setNumber(i, n int) {
	if c.wide {
		binary.NativeEndian.PutUint16(c.mask[2*i:], uint16(n))
	} else {
		c.mask[i] = uint8(n)
	}
}

// most is the greatest number that a mask can have.
func (c *copied) most() int {
	if c.wide {
		return math.MaxUint16
	}
	return math.MaxUint8
}

// draw chooses objects of the other image, and returns how many.
func (c *copied) draw(draws *media.Sequence) (n int) {
	present := make([]bool, c.most()+1)
	for i := range c.images.height * c.images.width {
		present[c.number(c.fromMask, i)] = true
	}
	c.objects, c.given = make([]bool, c.most()+1), make([]int, c.most()+1)
	boxed := len(c.boxes.fields) > 0
	next := 1 // of numbers that nothing here has
	if boxed {
		next += c.boxes.count[c.row]
	}
	// Draws are made for objects that could be copied, whatever numbers are left.
	for k := 1; k <= c.most(); k++ {
		if !present[k] || boxed && k > c.boxes.count[c.before] {
			continue // of an object without a box nothing is known
		}
		if draws.Next() >= *c.args.P || boxed && next > c.most() {
			continue
		}
		c.objects[k], c.given[k] = true, k
		if boxed {
			c.given[k] = next
			next++
		}
		n++
	}
	return n
}

// paste lays the chosen objects over the image, and gives it its boxes.
func (c *copied) paste(some bool) {
	extents := c.extents(c.mask)
	if some {
		for y := range c.images.height {
			for x := range c.images.width {
				i := y*c.images.width + x
				if k := c.number(c.fromMask, i); c.objects[k] {
					c.images.lay(c.image, x, y, x+1, y+1, c.fromImage, x, y)
					c.setNumber(i, c.given[k])
				}
			}
		}
	}
	if len(c.boxes.fields) == 0 {
		return
	}

	// Objects without pixels from the first on keep their boxes.
	now, numbers := c.extents(c.mask), make([]int, c.most()+1)
	place := 0
	for i, at := range c.boxes.of(c.row) {
		box, k := c.boxes.box(at), i+1
		if k < len(extents) && extents[k].pixels > 0 {
			if now[k].pixels == 0 {
				continue
			}
			if now[k].pixels < extents[k].pixels {
				box = now[k].bounds()
			}
		}
		place++
		if k <= c.most() {
			numbers[k] = place
		}
		c.boxes.add(c.row, box, at)
	}
	if !some {
		return
	}
	for _, at := range c.boxes.of(c.before) {
		if k := at.i + 1; k <= c.most() && c.objects[k] {
			place++
			numbers[c.given[k]] = place
			c.boxes.add(c.row, c.boxes.box(at), at)
		}
	}
	for i := range c.images.height * c.images.width {
		if k := c.number(c.mask, i); numbers[k] != 0 { // numbers without a box stay
			c.setNumber(i, numbers[k])
		}
	}
}

// extent has the edges of an object.
type extent struct{ pixels, x0, y0, x1, y1 int }

func (e *extent) bounds() media.Bounds {
	return media.Bounds{X0: float64(e.x0), Y0: float64(e.y0), X1: float64(e.x1), Y1: float64(e.y1)}
}

// extents returns the extent of each object of a mask by its number; nil without boxes.
func (c *copied) extents(mask []byte) []extent {
	if len(c.boxes.fields) == 0 {
		return nil
	}
	all := make([]extent, c.most()+1)
	for y := range c.images.height {
		for x := range c.images.width {
			e := &all[c.number(mask, y*c.images.width+x)]
			if e.pixels == 0 {
				*e = extent{0, x, y, x + 1, y + 1}
			}
			*e = extent{e.pixels + 1, min(e.x0, x), e.y0, max(e.x1, x+1), y + 1}
		}
	}
	return all
}
