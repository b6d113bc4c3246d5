package ops

import (
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/recipe/fuse"
)

// LinkImages makes the part that steps on an image are. Video is what finds the frames of
// what they decode; nil: that is no video.
func LinkImages(w *core.Env, p fuse.Part, t *core.Scope, video *Video, library bool) *ImageSteps {
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
