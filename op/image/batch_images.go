package image

import (
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// batchImages are the images of batches, all of one size.
type batchImages struct {
	at            record.Column
	planes        int
	height, width int
	pixel         int  // bytes, in each plane
	bytes         bool // they are uint8, and otherwise float32
}

// checkBatchField returns an error if batches have no field that an argument names.
func checkBatchField(in sample.Schema, argument, name string) error {
	if in.Find(name) < 0 {
		return recipe.Wrong(argument, "is %q: the batches have the fields %s", name, words.List(in.Names()))
	}
	return nil
}

// checkBatchImages returns an error if batches have no such images.
func checkBatchImages(in sample.Schema, name string) error {
	if err := checkBatchField(in, "image", name); err != nil {
		return err
	}
	images := in[in.Find(name)].Type
	row, is := images.Row()
	oneSize := is && images.Kind == sample.Tensor && row.Fixed() && len(row.Shape) == 3
	if !oneSize || images.DType != tensor.Uint8 && images.DType != tensor.Float32 {
		return recipe.Wrong("image", "is %q, which is %v: must be images of one size, uint8 or float32", name, images)
	}
	return nil
}

// newBatchImages finds the images in a scope. Without a layout the number of channels
// says which axis has them.
func newBatchImages(name, layout string, t *core.Scope) batchImages {
	b := imagesOf(t.Schema[t.Schema.Find(name)].Type, layout)
	b.at = t.Columns.Of[name]
	return b
}

// imagesOf is newBatchImages without their place.
func imagesOf(t sample.Type, layout string) batchImages {
	row := t.Shape[1:]
	b := batchImages{planes: 1, height: row[0], width: row[1], pixel: row[2], bytes: t.DType == tensor.Uint8}
	if layout == "NCHW" || layout == "" && row[2] > 4 && row[0] <= 4 {
		b.planes, b.height, b.width, b.pixel = row[0], row[1], row[2], 1
	}
	if !b.bytes {
		b.pixel *= 4
	}
	return b
}

// size is the bytes of an image.
func (b *batchImages) size() int { return b.planes * b.height * b.width * b.pixel }

// lay copies the part of an image that begins at a place to a rectangle of another one.
func (b *batchImages) lay(to []byte, x0, y0, x1, y1 int, from []byte, x, y int) {
	n := (x1 - x0) * b.pixel
	for plane := range b.planes {
		rows := plane * b.height
		for i := range y1 - y0 {
			copy(to[((rows+y0+i)*b.width+x0)*b.pixel:][:n], from[((rows+y+i)*b.width+x)*b.pixel:])
		}
	}
}
