package image

import (
	"errors"
	"fmt"
	"slices"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// ofSteps says what such an argument is.
const ofSteps = "steps on an image, without names, failures or fields of their own"

// completeAll are steps on an image that another step holds, with all arguments.
func completeAll(steps recipe.Chain) recipe.Chain {
	all := slices.Clone(steps)
	for i, s := range all {
		if op, known := recipe.Find(s.Op); s.Args == nil && known {
			s.Args = op.New()
		}
		if s.Args != nil {
			all[i].Args = recipe.Completed(s.Args)
		}
	}
	return all
}

// transforms returns the operations of such steps. They must be checked.
func transforms(steps recipe.Chain) (all []media.Op) {
	for _, s := range steps {
		all = append(all, s.Args.(recipe.Transform).Transform())
	}
	return all
}

// checkInside holds steps that another step holds against each image that it works on:
// one after the other, or each by itself.
func checkInside(steps recipe.Chain, apart bool, in sample.Schema, images []string) error {
	var errs []error
	steps = completeAll(steps)
	for i, s := range steps {
		place := fmt.Sprintf("steps[%d]", i)
		switch t, is := s.Args.(recipe.Transform); {
		case !is:
			errs = append(errs, recipe.Wrong(place, "is %s, which does not work on an image", s.Op))
		case s.Name != "" || s.Failures != nil:
			errs = append(errs, recipe.Wrong(place, "is %s with a name or failures of its own: give these to the step around it", s.Op))
		case len(t.Images(twoImages)) != len(twoImages):
			errs = append(errs, recipe.Wrong(place, "is %s with a field of its own: it works on that of the step around it", s.Op))
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}

	for _, name := range images {
		now := sample.Schema{in[in.Find(name)]}
		for i, s := range steps {
			out, err := s.Args.Check(now)
			if err != nil {
				var of argument.Mistake
				if errors.As(err, &of) { // which does not name the argument
					err = fmt.Errorf("%s %w", of.Path, of.Err)
				}
				errs = append(errs, recipe.Wrong(fmt.Sprintf("steps[%d]", i), "is %s: %w", s.Op, err))
			} else if !apart {
				now = out
			}
		}
		if len(errs) > 0 {
			break // others would say the same
		}
	}
	return errors.Join(errs...)
}

// twoImages are of a sample in which a step that names no field would work on both.
var twoImages = func() sample.Schema {
	is := recipe.ImageType(media.Form{Height: 1, Width: 1, DType: tensor.Uint8})
	return sample.Schema{{Name: " 1", Type: is}, {Name: " 2", Type: is}}
}()
