package video

import (
	"slices"

	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[TemporalJitter]("temporal_jitter", recipe.Between,
	"Have frames of a clip come a little earlier or later: in place of each there is a random one near it.").Explained(`
Time never runs backwards: the frames that were drawn are put in order. A clip stays as long as it is.`,
	`.decode_video(16, fps=8).temporal_jitter(2)`).
	Called("frames").
	Telling("frames"))

// TemporalJitter are the arguments of the operation temporal_jitter.
type TemporalJitter struct {
	Frames *int `json:"frames,omitempty" required:"true" min:"0" max:"100000" example:"2" doc:"how many frames earlier or later, at most"`

	recipe.On
}

// Check implements [recipe.Args].
func (j *TemporalJitter) Check(in sample.Schema) (sample.Schema, error) {
	return checkClips(in, j, j.On)
}

// Traits implements [recipe.Traited].
func (*TemporalJitter) Traits() recipe.Traits { return recipe.Traits{Content: "video"} }

// Link implements [core.Linker].
func (j *TemporalJitter) Link(w *core.Env, name string, t *core.Scope) (core.Part, error) {
	return linkMoments(w, name, t, j.On, "frames", func(frames []int, chance order.Key, id uint64, draw uint32) {
		last := len(frames) - 1
		for i := range frames {
			frames[i] = min(max(i-*j.Frames+chance.Intn(id, draw+uint32(i), 2**j.Frames+1), 0), last)
		}
		slices.Sort(frames)
	}), nil
}
