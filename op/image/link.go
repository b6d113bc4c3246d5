package image

import (
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/recipe/fuse"
)

// Link makes the part that steps on an image are. Frames are those of a video that
// they decode; nil: that is none.
func Link(w *core.Env, p fuse.Part, t *core.Scope, frames Frames, library bool) *Steps {
	p.Images.Decode.Library = library
	next := &Steps{Env: w, Steps: p.Images, Names: StepNames(p), Frames: frames}
	if field := p.Images.Field; field != "" {
		next.Decoder = p.Names[0]
		if frames != nil && frames.KeepsFile() {
			next.From, next.Keeps = t.Columns.Of[field], true
		} else {
			next.From = t.Columns.Take(field)
			t.Schema = t.Schema.Without(field)
		}
		if frames == nil {
			t.Memory.Probe = next.From
		}
	}
	if frames != nil {
		frames.Link(t)
	}
	if along := p.Images.Along; along != nil {
		for _, tied := range along.Tied {
			if tied.Points {
				next.Points = append(next.Points, newMovingPoints(tied.Field, along.From, t))
			} else {
				next.Boxes = newMovingBoxes(&tied, along.From, t)
			}
		}
	}
	next.result(t)
	return next
}
