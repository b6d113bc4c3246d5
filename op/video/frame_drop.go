package video

import (
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[FrameDrop]("frame_drop", recipe.Between,
	"Drop frames of a clip at random: the one before stays in their place, as a video that stutters.").Explained(`
A clip stays as long as it is. Its first frame is never dropped.`,
	`.decode_video(16, fps=8).frame_drop(0.2)`).
	Called("p").
	Telling("frames"))

// FrameDrop are the arguments of the operation frame_drop.
type FrameDrop struct {
	P *float64 `json:"p,omitempty" min:"0" max:"1" default:"0.1" doc:"the probability with which a frame is dropped"`

	recipe.On
}

// Check implements [recipe.Args].
func (d *FrameDrop) Check(in sample.Schema) (sample.Schema, error) { return checkClips(in, d, d.On) }

// Traits implements [recipe.Traited].
func (*FrameDrop) Traits() recipe.Traits { return recipe.Traits{Content: "video"} }

// Link implements [core.Linker].
func (d *FrameDrop) Link(w *core.Env, name string, t *core.Scope) (core.Part, error) {
	return linkMoments(w, name, t, d.On, "frames", func(frames []int, chance order.Key, id uint64, draw uint32) {
		kept := 0
		for i := range frames {
			if i > 0 && chance.Float64(id, draw+uint32(i)) >= *d.P {
				kept = i
			}
			frames[i] = kept
		}
	}), nil
}
