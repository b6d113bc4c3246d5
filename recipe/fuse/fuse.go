package fuse

import (
	"errors"
	"fmt"
	"strings"

	"headrace/media"
	"headrace/order"
	"headrace/recipe"
)

// Plan is a recipe of image files as the engine runs it: which files in which order, and one operation for each.
type Plan struct {
	Source      string   // the name of the source's step
	Sources     []string // of all steps that say which samples come, and in which order
	Files       recipe.Files
	Shuffle     *recipe.Shuffle // nil: in the order of the source
	ShuffleSeed uint64          // its own seed, or that of the recipe

	Name   string   // of the operation: "decode_image+resize+center_crop+batch"
	Names  []string // of the steps that it consists of
	Images Images
	Batch  recipe.Batch
}

// Images is what happens to the image of a sample.
type Images struct {
	Field  string // with the compressed image
	To     string // with the pixels
	Decode media.Options
	Steps  []media.Step
}

// Fuse returns what r comes to. The recipe must have passed its Check. The error names the first step that the engine cannot run in
// this way.
func Fuse(r recipe.Recipe) (Plan, error) {
	f := fuser{seed: r.Seed}
	for i, s := range r.Complete().Steps {
		if err := f.take(s); err != nil {
			return Plan{}, &recipe.Error{Step: i + 1, Name: s.Name, Err: err}
		}
	}
	if f.stage != batched {
		return Plan{}, &recipe.Error{Err: fmt.Errorf("is not complete: %s", missing[f.stage])}
	}
	f.plan.Name = strings.Join(f.plan.Names, "+")
	return f.plan, nil
}

// fuser takes steps in the only order in which they are one operation per sample.
type fuser struct {
	plan  Plan
	seed  uint64
	stage stage
}

// stage is how far a recipe has come.
type stage int

const (
	empty stage = iota
	listed
	shuffled
	decoded
	batched
)

// missing says what has to follow.
var missing = [...]string{
	empty:    "it needs a source such as files",
	listed:   "it needs decode_image, and batch at its end",
	shuffled: "it needs decode_image, and batch at its end",
	decoded:  "it needs batch at its end",
}

func (f *fuser) take(s recipe.Step) error {
	switch s.Args.(type) {
	case *recipe.Files, *recipe.Shuffle:
		f.plan.Sources = append(f.plan.Sources, s.Name)
	}
	switch args := s.Args.(type) {
	case *recipe.Files:
		f.plan.Source, f.plan.Files = s.Name, *args
		return f.advance(listed, f.stage == empty, "is not the first step")
	case *recipe.Shuffle:
		f.plan.Shuffle, f.plan.ShuffleSeed = args, f.seed
		if args.Seed != nil {
			f.plan.ShuffleSeed = *args.Seed
		}
		return f.advance(shuffled, f.stage == listed, "does not follow the source directly")
	}
	f.plan.Names = append(f.plan.Names, s.Name)
	switch args := s.Args.(type) {
	case *recipe.DecodeImage:
		f.plan.Images = Images{Field: args.Field, To: args.To, Decode: args.Options()}
		return f.advance(decoded, f.stage == listed || f.stage == shuffled, "is not the first step after the source")
	case recipe.Transform:
		f.plan.Images.Steps = append(f.plan.Images.Steps, media.Step{Op: args.Transform(), ID: order.OpID(s.Name)})
		return f.advance(decoded, f.stage == decoded, "does not stand between decode_image and batch")
	case *recipe.Batch:
		f.plan.Batch = *args
		return f.advance(batched, f.stage == decoded, "does not follow decode_image")
	default:
		return fmt.Errorf("is %s, which the engine cannot run yet", s.Op)
	}
}

func (f *fuser) advance(to stage, fits bool, otherwise string) error {
	f.stage = to
	if !fits {
		return errors.New(otherwise)
	}
	return nil
}
