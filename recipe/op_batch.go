package recipe

import (
	"errors"
	"fmt"
	"math"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

var batchOp = operation[Batch]("batch", Batching, "Stack samples into batches; images must have one size.")

// Batch are the arguments of the operation batch. Exactly one of Size and GlobalSize is
// given.
type Batch struct {
	Size       int  `json:"size,omitempty" min:"1" example:"32" doc:"samples per batch, on each rank"`
	GlobalSize int  `json:"global_size,omitempty" min:"1" doc:"samples per batch over all ranks, each taking a contiguous part: these batches stay the same with another number of ranks"`
	DropLast   bool `json:"drop_last" doc:"drop the epoch's last batch if it is not full"`
	Lists      bool `json:"lists,omitempty" doc:"the batches are the lists that sampler gives; size is the most samples in one"`

	Collate *Collate `json:"collate,omitempty" doc:"a Python function, with arguments as for map: it is passed a list of samples and returns the batch's fields; by default arrays of one shape are stacked, text and objects become lists"`
}

func (b Batch) complete() Args {
	b.Collate = b.Collate.complete()
	return &b
}

func (b Batch) identity(Recipe) Args {
	b.Collate = b.Collate.identity()
	return &b
}

// checkFailures implements [failing]: only a function can fail.
func (b *Batch) checkFailures(f *Failures) error {
	switch {
	case b.Collate == nil:
		return noneFail(batchOp.Name)
	case f.OnError == "replace":
		return errors.Join(f.Check(), Wrong("on_error", `is "replace": collate fails for a whole batch, and no other batch can replace it: use raise or skip`))
	}
	return nil
}

// Check implements [Args]. The schema that comes out is that of a row: each field is
// stacked, text and objects become lists. With Collate it is that of a whole batch, and
// nil where nobody has said what that is.
func (b *Batch) Check(in sample.Schema) (sample.Schema, error) { return b.checkSizes(in, nil, false) }

// checkSizes is Check, where the image has one of these shapes. Inside says that there is
// a resize_to_bucket in a chain of a merge or route.
func (b *Batch) checkSizes(in sample.Schema, shapes []tensor.Shape, inside bool) (sample.Schema, error) {
	var errs []error
	switch {
	case b.Size == 0 && b.GlobalSize == 0:
		errs = append(errs, errors.New("has no size, or 0: needs either size or global_size, at least 1"))
	case b.Size != 0 && b.GlobalSize != 0:
		errs = append(errs, errors.New("has both size and global_size: give one of them"))
	}
	errs = append(errs, checkRows("size", b.Size), checkRows("global_size", b.GlobalSize))
	if b.Lists && (b.GlobalSize != 0 || b.DropLast) {
		errs = append(errs, errors.New("has lists, and global_size or drop_last: the lists are the batches, so give size alone"))
	}

	if b.Collate != nil {
		out, err := b.Collate.check(in, shapes != nil || inside)
		return out, errors.Join(append(errs, err)...)
	}

	for _, f := range in {
		switch {
		case !isImage(f.Type):
			errs = append(errs, stackable(f))
		case shapes != nil:
		case inside && !f.Type.Fixed():
			errs = append(errs, fmt.Errorf("cannot stack images of different sizes: the field %q is %v; put resize_to_bucket after the merge or route, and not into it", f.Name, f.Type))
		default:
			errs = append(errs, stackable(f))
		}
	}
	return in, errors.Join(errs...)
}

func checkRows(name string, n int) error {
	if n < 0 || n > math.MaxInt32 {
		return Wrong(name, "is %d: must be from 1 to %d", n, math.MaxInt32)
	}
	return nil
}

// checkSome asks for a number that has no default.
func checkSome(name string, n int) error {
	if n == 0 {
		return fmt.Errorf("lacks the argument %s, or has 0 there: must be at least 1", name)
	}
	return nil
}

// stackable says why a field cannot be stacked, and what to do about it.
func stackable(f sample.Field) error {
	switch {
	case f.Type.Kind == sample.Text || f.Type.Kind == sample.Object || f.Type.Fixed():
		return nil
	case isImage(f.Type) && ImageForm(f.Type).Frames == tensor.Unknown:
		return fmt.Errorf("cannot stack clips of different lengths: the field %q is %v; set frames in decode_video, or end the recipe without batch: each sample comes by itself", f.Name, f.Type)
	case isImage(f.Type):
		return fmt.Errorf("cannot stack images of different sizes: the field %q is %v; put center_crop, random_resized_crop, resize to [height, width] or resize_to_bucket before it", f.Name, f.Type)
	case f.Type.Kind == sample.Bytes:
		return fmt.Errorf("cannot stack the field %q, which is bytes; put decode_image or decode_npy before it, leave the field out: drop(%q), or keep the bytes as they are, as objects: the source or function that makes them says gives={%q: object}", f.Name, f.Name, f.Name)
	case f.Type.Ragged():
		return fmt.Errorf("cannot stack sequences of different lengths: the field %q is %v; end the recipe with bucket_batch or pack instead, or with batch and a collate function", f.Name, f.Type)
	default:
		return fmt.Errorf("cannot stack arrays of different shapes: the field %q is %v", f.Name, f.Type)
	}
}

// Traits implements [traited].
func (b *Batch) Traits() Traits {
	t := Traits{Batches: &Batches{Size: b.Size, GlobalSize: b.GlobalSize, DropLast: b.DropLast, Lists: b.Lists, Collate: b.Collate}}
	if c := b.Collate; c != nil {
		t.Call = &Call{Kind: CollateCall, Python: c.Python, Gives: &c.Gives}
	}
	return t
}

// WithGives implements [Giving].
func (b Batch) WithGives(g Gives) Args {
	b.Collate = &Collate{Python: b.Collate.Python, Gives: g}
	return &b
}

// withBatches implements [stacker].
func (*Batch) withBatches(b Batches) Args {
	return &Batch{Size: b.Size, GlobalSize: b.GlobalSize, DropLast: b.DropLast, Lists: b.Lists, Collate: b.Collate}
}
