package recipe

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/sample"
)

// Transform is implemented by arguments of operations on an image. What they do to it is
// said by package media.
type Transform interface {
	Args
	// Transform returns the operation. The arguments must be complete and checked.
	Transform() media.Op
	// Images are the fields that it works on, of those that the samples have.
	Images(in sample.Schema) []string
	CheckImages(in sample.Schema) error
}

// CheckTransform holds arguments against their tags, and finds the images of a schema and
// what becomes of them. Of the errors, nil counts for nothing.
func CheckTransform(in sample.Schema, t Transform, errs ...error) (sample.Schema, error) {
	t = Completed(t).(Transform)
	errs = slices.DeleteFunc(append([]error{argument.CheckTags(t)}, errs...), func(err error) bool { return err == nil })
	var op media.Op
	if len(errs) == 0 {
		op = t.Transform()
		if err := op.Check(); err != nil {
			errs = append(errs, fmt.Errorf("is not possible: %w", err))
		}
	}
	if err := t.CheckImages(in); err != nil {
		return in, errors.Join(append(errs, err)...)
	}
	if len(errs) > 0 {
		return in, errors.Join(errs...)
	}
	out := in
	for _, name := range t.Images(in) {
		form, err := op.Result(ImageForm(in[in.Find(name)].Type))
		if err != nil {
			errs = append(errs, fmt.Errorf("is not possible: %w", err))
			continue
		}
		out = out.With(name, ImageType(form))
	}
	return out, errors.Join(errs...)
}

// IsImage reports whether a field holds images or clips.
func IsImage(t sample.Type) bool { return t.Axes != "" }

// ImageType is the type of a field that holds images of this form.
func ImageType(f media.Form) sample.Type {
	t := sample.TensorType(f.DType, f.Shape()...)
	t.Axes = f.Axes()
	return t
}

// ImageForm is the form of the images or clips of such a field, one of which the axes are
// known.
func ImageForm(t sample.Type) media.Form {
	f := media.Form{DType: t.DType}
	channels := media.Mask.Channels()
	if !strings.Contains(t.Axes, "C") {
		f.Color = media.Mask
	}
	extents := map[rune]*int{'N': &f.Clips, 'T': &f.Frames, 'H': &f.Height, 'W': &f.Width, 'C': &channels}
	for i, axis := range t.Axes {
		*extents[axis] = t.Shape[i]
	}
	switch {
	case strings.HasSuffix(t.Axes, "CTHW"):
		f.Layout = media.CTHW
	case strings.HasSuffix(t.Axes, "CHW"):
		f.Layout = media.CHW
	}
	for f.Color.Channels() != channels {
		f.Color++
	}
	return f
}

func noImage(in sample.Schema, images []string) error {
	if len(images) > 1 {
		return fmt.Errorf("cannot tell which image is meant: there are %s; set field=%q, or fields=[…] for several",
			words.List(images), images[0])
	}
	if i := slices.IndexFunc(in, func(f sample.Field) bool { return f.Type.Kind == sample.Bytes }); i >= 0 {
		return fmt.Errorf("has no image to work on, only %v; put decode_image before it", in)
	}
	if slices.ContainsFunc(in, func(f sample.Field) bool { return f.Type.Kind == sample.Tensor && len(f.Type.Shape) >= 3 }) {
		return fmt.Errorf("has no image to work on, only %v; an array is an image if it is the field \"image\" of a source, "+
			"or if a function returns it instead of one: work on others in a function", in)
	}
	return fmt.Errorf("has no image to work on, only %v", in)
}
