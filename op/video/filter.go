package video

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/video"
	"github.com/headrace/headrace/store"
)

// decoded has all frames shown.
func (y *player) decoded(ctx context.Context) error {
	if y.filter == "" {
		return y.video.clip.Decode(ctx, y.show)
	}
	enter, n := y.video.entering(), 0
	err := y.video.clip.Filtered(ctx, y.filter, y.video.begins(enter), func(_ int64, f *video.Frame) error {
		if n == len(enter) {
			return fmt.Errorf("headrace: the filter %q makes more than the %d frames that enter it: %s", y.filter, n, otherCount)
		}
		n++
		return y.show(enter[n-1], f)
	})
	if err == nil && n < len(enter) {
		err = fmt.Errorf("headrace: the filter %q makes %d of the %d frames that enter it: %s", y.filter, n, len(enter), otherCount)
	}
	return err
}

const otherCount = "choose frames with frames, fps or stride, or let hr.io.load_video(filter=…) make any number"

// entering returns the frames that go through a filter: each once, as they are displayed.
func (o *opened) entering() []int {
	all := slices.Compact(slices.Sorted(slices.Values(o.frames)))
	return slices.DeleteFunc(all, func(n int) bool { return n == av.Blank })
}

// begins returns the second of the video that is 0 for a filter: the one asked for, or
// that of the clip's first frame.
func (o *opened) begins(enter []int) float64 {
	if !math.IsNaN(o.at) {
		return o.at
	}
	if len(enter) == 0 {
		return 0
	}
	return o.video.Seconds(enter[0])
}

// Free reports whether a filter decides how many frames the clip has, which is not known
// before they are decoded: the arguments ask for no number.
func (c *VideoClip) Free(list FrameList) bool {
	a := c.args
	counted := a.Frames != nil || a.FPS != nil || a.Segments != nil
	listed := len(list.Indices) > 0 || len(list.Times) > 0
	return a.Filter != "" && !counted && !listed
}

// FillFree decodes such a clip, of no more bytes than that, and sets its form.
func (c *VideoClip) FillFree(ctx context.Context, most int64) (all []byte, err error) {
	y := player{decode: c.decode, steps: c.steps, plan: &c.plan, video: &c.opened}
	defer y.giveBack()
	size, n := 0, 0
	err = c.clip.Filtered(ctx, c.args.Filter, c.begins(c.entering()), func(_ int64, f *video.Frame) error {
		if n == 0 {
			if err := c.sized(f.Width, f.Height); err != nil {
				return err
			}
			y.planes, size = c.planes, int(c.form.Picture().Bytes())
		}
		n++
		if int64(n)*int64(size) > most {
			return fmt.Errorf("%w: the filter gives more than %d bytes; raise max_bytes", store.ErrTooLarge, most)
		}
		all = slices.Grow(all, size)[:n*size]
		to := all[(n-1)*size:]
		if y.planes != nil {
			return y.planes.Draw(to, f)
		}
		plan, err := y.planFor(f, func() string { return fmt.Sprintf("frame %d that the filter %q makes", n-1, c.args.Filter) })
		if err != nil {
			return err
		}
		return video.Draw(to, c.form.RowBytes(), &f.Picture, plan, y.decode, y.pixels)
	})
	if err == nil && n == 0 {
		err = fmt.Errorf("headrace: the filter %q makes no frame of the %d that enter it", c.args.Filter, len(c.entering()))
	}
	c.form.Frames = n
	return all, err
}

// sized makes the plan for frames of this size.
func (c *VideoClip) sized(width, height int) error {
	c.filtered.Width, c.filtered.Height = width, height
	if err := media.MakePlan(c.info(), c.decode, c.steps, nil, &c.plan); err != nil {
		return err
	}
	c.form = c.plan.Form()
	if c.args.Planes() {
		c.planes, c.form = newPlanesWriter(c.args, &c.plan), planesForm(c.args, c.form)
	}
	return nil
}
