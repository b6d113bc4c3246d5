package fuse

import (
	"errors"
	"fmt"
	"strings"

	"headrace/media"
	"headrace/recipe"
)

// Images is a recipe of image files, as one operation per sample.
type Images struct {
	SourceName string // of the source's step
	Source     *recipe.Files
	Shuffle    *recipe.Shuffle // nil: in the order of the source

	Name   string   // of what follows: "decode_image+resize+center_crop+batch"
	Names  []string // of its steps, one by one
	Field  string   // with the compressed image
	To     string   // with the pixels
	Orient bool     // turn the image as its EXIF orientation says
	Steps  []media.Step
	Batch  *recipe.Batch
}

// Find returns what r comes to. The recipe must have passed its Check. id turns the name of a step into the number by which random draws
// know it. The error names the first step that does not fit.
func Find(r recipe.Recipe, id func(step string) uint64) (Images, error) {
	var f finder
	for i, s := range r.Complete().Steps {
		if err := f.take(s, id); err != nil {
			return Images{}, &recipe.Error{Step: i + 1, Name: s.Name, Err: err}
		}
	}
	if f.Batch == nil {
		return Images{}, &recipe.Error{Err: fmt.Errorf("is not complete: %s", f.missing())}
	}
	f.Name = strings.Join(f.Names, "+")
	return f.Images, nil
}

// finder takes steps in the only order in which they can be one: the source, its order, decode_image, geometry, batch.
type finder struct {
	Images
	decodes bool
}

func (f *finder) take(s recipe.Step, id func(string) uint64) error {
	if f.Batch != nil {
		return errors.New("comes after the step that makes batches")
	}
	switch args := s.Args.(type) {
	case *recipe.Files:
		if f.Source != nil {
			return errors.New("is a second source")
		}
		f.SourceName, f.Source = s.Name, args
		return nil
	case *recipe.Shuffle:
		if f.Source == nil || f.decodes {
			return errors.New("does not follow the source")
		}
		f.Shuffle = args
		return nil
	case *recipe.DecodeImage:
		if f.Source == nil || f.decodes {
			return errors.New("is not the first step after the source")
		}
		f.decodes = true
		f.Field, f.To, f.Orient = args.Field, args.To, *args.Orient
	case recipe.Geometry:
		if !f.decodes {
			return errors.New("comes before decode_image")
		}
		f.Steps = append(f.Steps, media.Step{Op: args.Geometry(), ID: id(s.Name)})
	case *recipe.Batch:
		if !f.decodes {
			return errors.New("comes before decode_image")
		}
		f.Batch = args
	default:
		return fmt.Errorf("is %s, which the engine cannot run yet", s.Op)
	}
	f.Names = append(f.Names, s.Name)
	return nil
}

// missing says what a recipe needs at its end.
func (f *finder) missing() string {
	switch {
	case f.Source == nil:
		return "it needs a source such as files"
	case !f.decodes:
		return "it needs decode_image, and batch at its end"
	default:
		return "it needs batch at its end"
	}
}
