package recipe

import (
	"slices"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// Stacking is implemented by arguments of operations that stack images.
type Stacking interface {
	// CheckSizes is Check, where the image has one of these shapes. Inside says that
	// images get sizes of their own in a chain of a merge or route.
	CheckSizes(in sample.Schema, shapes []tensor.Shape, inside bool) (sample.Schema, error)
}

// Bucketing is implemented by arguments of operations that give each image one of several
// sizes.
type Bucketing interface {
	Transform
	Buckets() []Size
}

// ImageShapes returns the shapes of which the images in a batch have one, the same for
// a whole batch, where there are several: after a resize_to_bucket with several sizes,
// and operations that make one size of each. They are those of the first batches, if
// these are made to others. It returns nil where there is one shape. The recipe must
// have passed its Check.
func (r Recipe) ImageShapes() []tensor.Shape {
	r = r.Complete()
	c := newChecker(r.Steps)
	c.chain(r.Steps, Surroundings{Begins: true}, nil)
	for at, i := range c.top {
		if c.steps[i].op.Place == Batching {
			return c.shapes(at)
		}
	}
	return c.shapes(len(c.top) - 1)
}

// shapes are those of the images that the step with this number of the recipe's own chain
// is given, where it is known that they have one of several.
func (c *checker) shapes(at int) (all []tensor.Shape) {
	from := at - 1
	for ; from >= 0; from-- {
		if b, ok := c.steps[c.top[from]].Args.(Bucketing); ok && len(b.Buckets()) > 0 {
			break
		}
		switch args := c.steps[c.top[from]].Args.(type) {
		case Transform, FieldStep:
		default:
			if TraitsOf(args).Lanes == 0 {
				return nil
			}
		}
	}
	if from < 0 {
		return nil
	}

	out := c.steps[c.top[from]].out
	differ := func(f sample.Field) bool { return IsImage(f.Type) && !f.Type.Fixed() }
	image := slices.IndexFunc(out, differ)
	if image < 0 || slices.ContainsFunc(out[image+1:], differ) {
		return nil // a mistake that was found, or several images of sizes of their own
	}

	// Two sizes may become one on the way.
	for _, s := range c.steps[c.top[from]].Args.(Bucketing).Buckets() {
		form := ImageForm(out[image].Type)
		form.Height, form.Width = s.Both()
		for _, i := range c.top[from+1 : at] {
			var ok bool
			if form, ok = c.result(i, out[image].Name, form); !ok {
				return nil
			}
		}
		if shape := form.Shape(); !slices.ContainsFunc(all, shape.Equal) {
			all = append(all, shape)
		}
	}

	if len(all) < 2 {
		return nil
	}
	return all
}

// bucketsInside tells whether images are resized to buckets before their ways join.
func (c *checker) bucketsInside() bool {
	for i, s := range c.steps {
		if _, ok := s.Args.(Bucketing); ok && !slices.Contains(c.top, i) {
			return true
		}
	}
	return false
}

// result is what step i makes of the images of a form in a field. It is not ok where
// their size is not known then.
func (c *checker) result(i int, name string, form media.Form) (media.Form, bool) {
	if c.steps[i].out == nil {
		return form, false
	}
	t, ok := c.steps[i].Args.(Transform)
	if !ok {
		return form, true
	}
	if all := (On{}).Images(c.steps[i].out); len(all) > 1 && !slices.Contains(t.Images(c.steps[i].out), name) {
		return form, true
	}
	out, err := t.Transform().Result(form)
	return out, err == nil && out.Height > 0 && out.Width > 0
}
