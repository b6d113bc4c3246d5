package fuse

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"headrace/media"
	"headrace/order"
	"headrace/recipe"
	"headrace/sample"
	"headrace/tensor"
)

// Plan is a recipe of files as the engine runs it: which files in which order, and what happens to each.
type Plan struct {
	Source      string   // the name of the source's step
	Sources     []string // of all steps that say which samples come, and in which order
	Files       recipe.Files
	Shuffle     *recipe.Shuffle // nil: in the order of the source
	ShuffleSeed uint64          // its own seed, or that of the recipe

	Parts []Part // one after the other; the last puts the samples into batches
	Batch recipe.Batch
}

// Part is what runs as one. It has Images, or another Step, or neither: then it is the batch alone.
type Part struct {
	Names  []string // of the steps that it consists of
	Images *Images
	Step   *recipe.Step
}

// Name is like "decode_image+resize+center_crop+batch".
func (p Part) Name() string { return strings.Join(p.Names, "+") }

// Images is what happens to the image of a sample.
type Images struct {
	Field  string        // with the compressed image; "": To holds pixels already
	To     string        // with the pixels
	Decode media.Options // of the compressed image; of pixels, their mode and what they are
	Form   media.Form    // what the first of Steps is given
	Steps  []media.Step
}

// Fuse returns what r comes to. The recipe must have passed its Check. The error names the first step that the engine cannot run in
// this way.
func Fuse(r recipe.Recipe) (Plan, error) {
	f := fuser{seed: r.Seed, modes: map[string]media.Mode{}}
	for n, s := range r.Complete().All() {
		if err := f.take(s); err != nil {
			return Plan{}, &recipe.Error{Step: n, Name: s.Name, Err: err}
		}
	}
	switch {
	case f.plan.Source == "":
		return Plan{}, &recipe.Error{Err: errors.New("is not complete: it needs a source such as files")}
	case len(f.plan.Parts) == 0:
		return Plan{}, &recipe.Error{Err: errors.New("is not complete: it needs decode_image, and batch at its end")}
	case !f.batched:
		return Plan{}, &recipe.Error{Err: errors.New("is not complete: it needs batch at its end")}
	}
	return f.plan, nil
}

// fuser takes one step after the other.
type fuser struct {
	plan    Plan
	seed    uint64
	schema  sample.Schema         // of what the steps so far give
	modes   map[string]media.Mode // in which fields were decoded
	batched bool
}

func (f *fuser) take(s recipe.Step) error {
	if s.Failures != nil {
		return errors.New("has failures, which the engine does not run yet")
	}
	switch args := s.Args.(type) {
	case *recipe.Merge, *recipe.Route:
		return fmt.Errorf("is %s, which the engine does not run yet", s.Op)
	case *recipe.Files:
		f.plan.Source, f.plan.Files = s.Name, *args
		f.plan.Sources = append(f.plan.Sources, s.Name)
	case *recipe.Shuffle:
		f.plan.Shuffle, f.plan.ShuffleSeed = args, f.seed
		if args.Seed != nil {
			f.plan.ShuffleSeed = *args.Seed
		}
		f.plan.Sources = append(f.plan.Sources, s.Name)
	case *recipe.DecodeImage:
		o := args.Options()
		f.begin(Part{Images: &Images{Field: args.Field, To: args.To, Decode: o, Form: o.Form()}}, s)
		f.modes[args.To] = o.Mode
	case recipe.Transform:
		if err := f.goOn(s); err != nil {
			return err
		}
		images := f.last().Images
		images.Steps = append(images.Steps, media.Step{Op: args.Transform(), ID: order.OpID(s.Name)})
	case *recipe.Batch:
		f.plan.Batch, f.batched = *args, true
		if p := f.last(); p != nil && p.Images != nil {
			p.Names = append(p.Names, s.Name)
		} else {
			f.begin(Part{}, s)
		}
	default:
		f.begin(Part{Step: &s}, s)
	}
	out, err := s.Args.Check(f.schema)
	f.schema = out
	return err
}

func (f *fuser) begin(p Part, s recipe.Step) {
	p.Names = []string{s.Name}
	f.plan.Parts = append(f.plan.Parts, p)
}

// last is the part that is being put together.
func (f *fuser) last() *Part {
	if n := len(f.plan.Parts); n > 0 {
		return &f.plan.Parts[n-1]
	}
	return nil
}

// goOn joins a step on the image to the part before, or begins another one with the pixels that are stored.
func (f *fuser) goOn(s recipe.Step) error {
	i := slices.IndexFunc(f.schema, func(field sample.Field) bool { return field.Type.Axes != "" })
	if i < 0 {
		return errors.New("has no image to work on")
	}
	name, form := f.schema[i].Name, recipe.ImageForm(f.schema[i].Type)
	p := f.last()
	if p.Images != nil && p.Images.To == name {
		p.Names = append(p.Names, s.Name)
		return nil
	}
	if !storable(form) {
		return fmt.Errorf("cannot follow %q: its image is %v there, and normalize and layout can only be followed by each other; put %q before them, or behind %q",
			p.Name(), form, p.Name(), s.Name)
	}
	f.begin(Part{Images: &Images{To: name, Decode: media.Options{Mode: f.modes[name], Color: form.Color, DType: form.DType}, Form: form}}, s)
	return nil
}

// storable tells whether steps can go on with a picture that was stored: with whole numbers, a pixel's side by side.
func storable(f media.Form) bool {
	return f.Layout == media.HWC && (f.DType == tensor.Uint8 || f.DType == tensor.Uint16)
}
