package recipe

import (
	"errors"
	"fmt"
	"slices"

	"headrace/media"
	"headrace/sample"
	"headrace/tensor"
)

// Geometry is implemented by arguments of operations on the geometry of an image. What they do to it is said by package media.
type Geometry interface {
	Args
	// Geometry returns the operation. The arguments must have been checked.
	Geometry() media.Op
}

var resizeOp = Op{
	Name: "resize",
	Doc:  "Resizes by antialiased bilinear interpolation.",
	New:  func() Args { return new(Resize) },
}

// Resize are the arguments of the operation resize.
type Resize struct {
	Size    Size `json:"size,omitzero" doc:"the length that the shorter edge gets; or [height, width]"`
	MaxSize int  `json:"max_size,omitempty" doc:"the length that the longer edge must not exceed; by default it may"`
}

// Geometry implements [Geometry].
func (r *Resize) Geometry() media.Op {
	if r.Size.Width != 0 {
		return media.ResizeExact{Height: r.Size.Height, Width: r.Size.Width}
	}
	return media.Resize{Size: r.Size.Height, MaxSize: r.MaxSize}
}

// Check implements [Args].
func (r *Resize) Check(in sample.Schema) (sample.Schema, error) {
	var errs []error
	if r.MaxSize != 0 && r.Size.Width != 0 {
		errs = append(errs, arg("max_size", "is %d, but size says both height and width", r.MaxSize))
	}
	return checkGeometry(in, r, r.Size, errs)
}

var centerCropOp = Op{
	Name: "center_crop",
	Doc:  "Cuts out the middle of an image; where the image is smaller, black is around it.",
	New:  func() Args { return new(CenterCrop) },
}

// CenterCrop are the arguments of the operation center_crop.
type CenterCrop struct {
	Size Size `json:"size,omitzero" doc:"[height, width], or one number for both"`
}

func (c CenterCrop) complete() Args {
	c.Size = c.Size.square()
	return &c
}

// Geometry implements [Geometry].
func (c *CenterCrop) Geometry() media.Op {
	height, width := c.Size.both()
	return media.CenterCrop{Height: height, Width: width}
}

// Check implements [Args].
func (c *CenterCrop) Check(in sample.Schema) (sample.Schema, error) {
	return checkGeometry(in, c, c.Size, nil)
}

var randomResizedCropOp = Op{
	Name: "random_resized_crop",
	Doc:  "Cuts out a random part of an image and resizes it.",
	New:  func() Args { return new(RandomResizedCrop) },
}

// RandomResizedCrop are the arguments of the operation random_resized_crop.
type RandomResizedCrop struct {
	Size  Size        `json:"size,omitzero" doc:"[height, width] of the result, or one number for both"`
	Scale *[2]float64 `json:"scale,omitempty" doc:"the least and the greatest share of the image's area; by default [0.08, 1]"`
	Ratio *[2]float64 `json:"ratio,omitempty" doc:"the least and the greatest ratio of width to height; by default [3/4, 4/3]"`
}

func (c RandomResizedCrop) complete() Args {
	c.Size = c.Size.square()
	if c.Scale == nil {
		c.Scale = &[2]float64{0.08, 1}
	}
	if c.Ratio == nil {
		c.Ratio = &[2]float64{3. / 4, 4. / 3}
	}
	return &c
}

// Geometry implements [Geometry].
func (c *RandomResizedCrop) Geometry() media.Op {
	height, width := c.Size.both()
	op := media.RandomResizedCrop{Height: height, Width: width}
	if c.Scale != nil {
		op.Scale = *c.Scale
	}
	if c.Ratio != nil {
		op.Ratio = *c.Ratio
	}
	return op
}

// Check implements [Args].
func (c *RandomResizedCrop) Check(in sample.Schema) (sample.Schema, error) {
	var errs []error
	// Zero is a default to package media, and here a mistake.
	if s := c.Scale; s != nil && !(s[0] > 0 && s[0] <= s[1] && s[1] <= 1) {
		errs = append(errs, arg("scale", "is [%v, %v]: takes two rising shares, above 0 and up to 1", s[0], s[1]))
	}
	if r := c.Ratio; r != nil && !(r[0] > 0 && r[0] <= r[1]) {
		errs = append(errs, arg("ratio", "is [%v, %v]: takes two rising numbers above 0", r[0], r[1]))
	}
	return checkGeometry(in, c, c.Size, errs)
}

var randomFlipOp = Op{
	Name: "random_flip",
	Doc:  "Mirrors an image, left and right.",
	New:  func() Args { return new(RandomFlip) },
}

// RandomFlip are the arguments of the operation random_flip.
type RandomFlip struct {
	P *float64 `json:"p,omitempty" doc:"the probability; by default 0.5"`
}

func (f RandomFlip) complete() Args {
	if f.P == nil {
		f.P = new(0.5)
	}
	return &f
}

// Geometry implements [Geometry].
func (f *RandomFlip) Geometry() media.Op {
	if f.P == nil {
		return media.RandomFlip{P: 0.5}
	}
	return media.RandomFlip{P: *f.P}
}

// Check implements [Args].
func (f *RandomFlip) Check(in sample.Schema) (sample.Schema, error) {
	if f.P != nil && !(*f.P >= 0 && *f.P <= 1) {
		return checkGeometry(in, f, Size{1, 1}, []error{arg("p", "is %v: takes a probability, from 0 to 1", *f.P)})
	}
	return checkGeometry(in, f, Size{1, 1}, nil)
}

// checkGeometry finds the image of a schema and what becomes of its size. size is the argument of that name.
func checkGeometry(in sample.Schema, g Geometry, size Size, errs []error) (sample.Schema, error) {
	op := g.Geometry()
	if !size.given() {
		errs = append(errs, errors.New("lacks the argument size"))
	} else if err := op.Check(); err != nil && len(errs) == 0 {
		errs = append(errs, fmt.Errorf("is not possible: %w", err))
	}
	images := slices.DeleteFunc(slices.Clone(in), func(f sample.Field) bool { return !isImage(f.Type) })
	if len(images) != 1 {
		return in, errors.Join(append(errs, noImage(in, images))...)
	}
	image := images[0]
	out := media.Form{Height: image.Type.Shape[0], Width: image.Type.Shape[1], DType: image.Type.DType}
	if len(errs) == 0 {
		var err error
		if out, err = op.Result(out); err != nil {
			errs = append(errs, fmt.Errorf("is not possible: %w", err))
		}
	}
	return in.With(image.Name, sample.TensorType(out.DType, out.Shape()...)), errors.Join(errs...)
}

func isImage(t sample.Type) bool {
	return t.Kind == sample.Tensor && t.DType == tensor.Uint8 && len(t.Shape) == 3 && t.Shape[2] == 3
}

func noImage(in, images sample.Schema) error {
	if len(images) > 1 {
		return fmt.Errorf("cannot tell which image is meant: there are %s", list(images.Names()))
	}
	if i := slices.IndexFunc(in, func(f sample.Field) bool { return f.Type.Kind == sample.Bytes }); i >= 0 {
		return fmt.Errorf("has no image to work on, only %v; put decode_image before it", in)
	}
	return fmt.Errorf("has no image to work on, only %v", in)
}
