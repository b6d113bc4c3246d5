package video

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

// checkClips holds a step that changes which frames clips have against its tags and the
// fields of samples.
func checkClips(in sample.Schema, args any, on recipe.On) (sample.Schema, error) {
	if err := errors.Join(argument.CheckTags(args), on.CheckImages(in)); err != nil {
		return nil, err
	}
	for _, name := range on.Images(in) {
		if t := in[in.Find(name)].Type; !strings.Contains(t.Axes, "T") {
			return nil, fmt.Errorf("works on clips, but %q is an image, %v; put decode_video before it", name, t)
		}
	}
	return in, nil
}

// moments is the part of a recipe that has other frames of a clip in the places of its
// frames.
type moments struct {
	env   *core.Env
	name  string
	id    uint64
	clips []record.Column
	tell  string // as what the ledger has the frames

	// pick writes which frame of a clip is in which place, by draws from one number on.
	pick func(frames []int, chance order.Key, id uint64, draw uint32)
}

func linkMoments(w *core.Env, name string, t *core.Scope, on recipe.On, tell string,
	pick func([]int, order.Key, uint64, uint32)) core.Part {
	p := &moments{env: w, name: name, id: order.OpID(name), tell: tell, pick: pick}
	for _, field := range on.Images(t.Schema) {
		p.clips = append(p.clips, t.Columns.Of[field])
	}
	return p
}

// Run implements [core.Part].
func (p *moments) Run(_ context.Context, it *record.Record, t *core.Tool) error {
	v := it.Values

	// The first clip says how many frames there are: all fields are changed by one draw.
	first := v.Images[p.clips[0].At].Form()
	frames := make([]int, first.Pictures())
	for at := 0; at < len(frames); at += first.Frames {
		p.pick(frames[at:][:first.Frames], t.Chance, p.id, uint32(at))
	}
	for _, at := range p.clips {
		is := v.Images[at.At]
		if f := is.Form(); f.Frames != first.Frames || f.Pictures() != first.Pictures() {
			return fmt.Errorf("headrace: one clip has %d frames, another %d: they are changed alike, so must have as many",
				first.Pictures(), f.Pictures())
		}
		to := v.NewImage(&p.env.Images, is.Form())
		rearrange(to.Data, is.Data, is.Form(), frames)
		v.Images[at.At] = to
	}
	if p.env.Ledger {
		it.Drew(p.name, map[string]any{p.tell: frames})
	}
	p.env.Settle(it)
	it.Account()
	return nil
}

// rearrange copies frames to their places: of each channel, if its frames follow each
// other.
func rearrange(to, from []byte, f media.Form, frames []int) {
	size, channels := int(f.Picture().Bytes()), 1
	if f.Layout == media.CTHW {
		channels = f.Color.Channels()
		size /= channels
	}
	for at := 0; at < len(frames); at += f.Frames {
		for c := range channels {
			begin := (at*channels + c*f.Frames) * size
			for i, frame := range frames[at:][:f.Frames] {
				copy(to[begin+i*size:][:size], from[begin+frame*size:])
			}
		}
	}
}

// Foresee implements [core.Part].
func (p *moments) Foresee(_ *record.Record, t *core.Tool) (bytes int64) {
	for _, at := range p.clips {
		if f := t.Forms[at.At]; f.Height > 0 {
			bytes += record.StoredBytes(f)
		}
	}
	return bytes
}
