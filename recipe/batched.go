package recipe

import (
	"fmt"
	"slices"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// batched is the schema of the batches that a step makes of samples, or rows, of this
// one.
func batched(args Args, rows sample.Schema, several bool) sample.Schema {
	n := tensor.Unknown
	switch b := TraitsOf(args).Batches; {
	case b.Collate != nil:
		return rows
	case b.Stacks() && b.DropLast && b.Size > 0 && !several:
		n = b.Size
	}
	out := make(sample.Schema, len(rows))
	for i, f := range rows {
		out[i] = sample.Field{Name: f.Name, Type: f.Type.Rows(n)}
	}
	return out
}

// Raggable reports whether a batch can have a list of arrays of this type: their first
// extent alone may differ.
func Raggable(t sample.Type) bool {
	array := t.Kind == sample.Tensor && t.Axes == "" && len(t.Shape) > 0
	return array && t.Shape[1:].Fixed() && !slices.Contains(t.Shape[1:], 0)
}

// Stackable says why a field cannot be stacked, and what to do about it.
func Stackable(f sample.Field) error {
	switch {
	case f.Type.Kind == sample.Text || f.Type.Kind == sample.Object || f.Type.Fixed():
		return nil
	case IsImage(f.Type) && ImageForm(f.Type).Frames == tensor.Unknown:
		return fmt.Errorf("cannot stack clips of different lengths: the field %q is %v; "+
			"set frames in decode_video, or end the recipe without batch: each sample comes by itself", f.Name, f.Type)
	case IsImage(f.Type):
		return fmt.Errorf("cannot stack images of different sizes: the field %q is %v; "+
			"put center_crop, random_resized_crop, resize to [height, width] or resize_to_bucket before it", f.Name, f.Type)
	case f.Type.Kind == sample.Bytes:
		return fmt.Errorf("cannot stack the field %q, which is bytes; put decode_image or decode_npy before it, "+
			"leave the field out: drop(%q), or keep the bytes as they are, as objects: "+
			"the source or function that makes them says gives={%q: object}", f.Name, f.Name, f.Name)
	case f.Type.Ragged():
		return fmt.Errorf("cannot stack sequences of different lengths: the field %q is %v; "+
			"keep them as lists of arrays, batch(…, ragged=[%q]), or end the recipe with bucket_batch or pack, "+
			"or with batch and a collate function", f.Name, f.Type, f.Name)
	default:
		return fmt.Errorf("cannot stack arrays of different shapes: the field %q is %v", f.Name, f.Type)
	}
}
