package video

import (
	"context"
	"encoding/binary"
	"iter"
	"math"
	"slices"
	"sync/atomic"

	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe/fuse"
)

// VideoApart makes several samples of one with a video: its clips. They have the place
// and the key of that sample, and among themselves a number. The video is opened once,
// and closed with the last of them.
type VideoApart struct {
	*Video
	sampling av.Sampling
	stays    []record.Column // of fields that each clip has, too
	Number   record.Column   // for the number; the zero Column: nobody wants to know
}

// NewVideoApart makes what takes a video apart.
func NewVideoApart(v *Video, p *fuse.Images, t *core.Scope) *VideoApart {
	args := p.Decoder.(*VideoClips)
	a := &VideoApart{Video: v}
	a.sampling, _ = args.Sampling() // checked with the recipe
	for _, at := range t.Columns.Of {
		if at != v.from || v.args.KeepsFile() {
			a.stays = append(a.stays, at)
		}
	}
	if args.Number != "" {
		a.Number = t.Columns.PutAny(args.Number, NumberType)
		t.Schema = t.Schema.With(args.Number, NumberType)
	}
	return a
}

// Always is how many clips every video gives, if that is known before anybody looks at
// one; otherwise 0.
func (a *VideoApart) Always() int64 {
	if a.sampling.Drop {
		return 0
	}
	return int64(a.sampling.Clip.Clips)
}

// Expand yields the clips of a video. What is wrong with it is for the decoder of the
// first to report, as with a video of one clip.
func (a *VideoApart) Expand(ctx context.Context, it *record.Record) iter.Seq2[*record.Record, error] {
	return func(yield func(*record.Record, error) bool) {
		r, clips, err := a.openAll(ctx, it)
		defer r.leave()
		if err != nil {
			clips = 1
		}
		for i := range clips {
			child := a.clipOf(r, int64(i), err)
			if err := a.env.Admit(ctx, child); err != nil {
				yield(nil, core.Blame(it, err))
				return
			}
			if !yield(child, nil) {
				return
			}
		}
	}
}

// Again takes a sample on its way by itself: it goes on as one of its clips. Of one that
// replaces another it is the last where there are fewer.
func (a *VideoApart) Again(ctx context.Context, it *record.Record) (*record.Record, error) {
	r, clips, err := a.openAll(ctx, it)
	defer r.leave()
	n := int64(0)
	if depth := len(it.Made); depth < len(it.Wanted) {
		n = it.Wanted[depth]
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
	case n >= int64(clips) && (it.Replaced == nil || clips == 0):
		return nil, pipe.Skip
	default:
		n = min(n, int64(clips)-1)
	}
	child := a.clipOf(r, n, err)
	return child, a.env.Admit(ctx, child)
}

// reel is a video while clips of it are on their way, with the sample that holds its
// content. The last that leaves closes it.
type reel struct {
	opened
	of    *record.Record
	env   *core.Env
	users atomic.Int64
}

func (r *reel) leave() {
	if r.users.Add(-1) == 0 {
		r.opened.Close()
		r.env.Drop(r.of)
	}
}

// openAll opens the video of a sample, and returns how many clips it has. The caller has
// to leave it.
func (a *VideoApart) openAll(ctx context.Context, it *record.Record) (r *reel, clips int, err error) {
	r = &reel{of: it, env: a.env}
	r.users.Add(1)
	err = a.env.Watched(ctx, it, func() error {
		return machine.Patiently(ctx, func() error {
			r.opened.Close()
			return a.open(ctx, it, &r.opened)
		})
	})
	if err == nil {
		clips, err = a.sampling.Len(&r.video.Table.Line)
	}
	if err != nil {
		err = short(err, &r.opened)
	}
	return r, clips, err
}

// clipOf makes the sample of a clip, or of why there is none.
func (a *VideoApart) clipOf(r *reel, number int64, failed error) *record.Record {
	child := r.of.Again()
	child.Wanted, child.Draws, child.Found = r.of.Wanted, slices.Clone(r.of.Draws), r.of.Found
	child.SetOutput(r.of.Made, number)
	v := a.env.Blank(child)
	for _, at := range a.stays {
		a.env.Copy(v, at, r.of.Values, at)
	}
	if a.Number.Kind == record.Numbers {
		binary.NativeEndian.PutUint64(v.Numbers[a.Number.At:], uint64(number))
	}
	if failed != nil {
		child.HeaderErr = failed
		return child
	}

	t := a.env.Tool(child)
	defer a.env.Done(t)
	o := &opened{video: r.video, reel: r}
	// Counted before frames can fail, since Close leaves the reel.
	r.users.Add(1)
	if err := a.frames(child, t, o, int(number)); err != nil {
		o.Close()
		child.HeaderErr = err
		return child
	}
	child.Opened = o
	return child
}

// frames says which frames a clip has.
func (a *VideoApart) frames(it *record.Record, t *core.Tool, o *opened, number int) (err error) {
	drawn := false
	o.frames, err = a.sampling.At(&o.video.Table.Line, number, func(n int) int {
		drawn = true
		return t.Chance.Intn(a.drawID, 0, n)
	})
	if err != nil {
		return short(err, o)
	}
	o.each = len(o.frames)
	if a.env.Ledger && drawn {
		it.Drew(a.name, map[string]any{"frames": o.frames})
	}
	o.clip, err = o.clipOf(a.args, math.NaN())
	return err
}
