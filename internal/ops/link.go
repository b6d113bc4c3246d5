package ops

import (
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
)

// HasCode reports whether the engine can carry a step out that is a part of its own.
func HasCode(args recipe.Args) bool {
	switch args := args.(type) {
	case Program, *recipe.DecodeNPY, *recipe.DecodeAudio, *recipe.LogMel, recipe.FieldStep:
		return true
	default:
		t := recipe.TraitsOf(args)
		return t.Call != nil || t.Count == recipe.Rows
	}
}

// Link makes the part that a step is, which is no function of Python.
func Link(w *Env, s recipe.Step, t *Scope) (Part, error) {
	switch args := s.Args.(type) {
	case *recipe.DecodeNPY:
		return linkArray(w, args, t), nil
	case *recipe.DecodeAudio:
		return linkAudio(w, s.Name, args, t), nil
	case *recipe.LogMel:
		return linkLogMel(w, args, t)
	}
	next, out, err := s.Args.(Program).Link(w, s.Name, t.Schema, &t.Columns)
	t.Schema = out
	return next, err
}

// LinkRow is Link for a step whose result goes into the rows of batches: one that
// fuse.Filler says can.
func LinkRow(w *Env, s recipe.Step, t *Scope) (RowPart, error) {
	next, err := Link(w, s, t)
	if err != nil {
		return nil, err
	}
	row := next.(interface {
		RowPart
		fillRows()
	})
	row.fillRows()
	return row, nil
}

// LinkImages makes the part that steps on an image are. Video is what finds the frames of
// what they decode; nil: that is no video.
func LinkImages(w *Env, p fuse.Part, t *Scope, video *Video, library bool) *ImageSteps {
	p.Images.Decode.Library = library
	next := &ImageSteps{Env: w, Steps: p.Images, Names: StepNames(p), Video: video}
	if field := p.Images.Field; field != "" {
		next.Decoder = p.Names[0]
		if video != nil && video.args.KeepsFile() {
			next.From, next.Keeps = t.Columns.Of[field], true
		} else {
			next.From = t.Columns.Take(field)
			t.Schema = t.Schema.Without(field)
		}
		if video == nil {
			t.Memory.Probe = next.From
		}
	}
	if video != nil {
		video.link(t)
	}
	if b := p.Images.Boxes; b != nil {
		next.Boxes = NewBoxes(b, t.Schema, t.Columns.Of)
	}
	next.result(t)
	return next
}
