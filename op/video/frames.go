package video

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/internal/scratch"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/video"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/image"
	"github.com/headrace/headrace/recipe/fuse"
)

// player has the frames of a video decoded and worked on.
type player struct {
	decode        media.Options
	steps         []media.Step
	chance        media.Rand
	plan          *media.Plan // for frames of the stream's size
	video         *opened
	planes        *video.PlanesWriter // that makes frames, instead of steps; nil: they become images
	to            image.FrameWriter
	rows          []int        // places in the clips, by the frames that go there
	came, damaged map[int]bool // frames that have come, and those that are not as they should be
	rgb           *[]byte      // a frame, between the decoder and the steps; nil: there was none yet
	other         media.Plan   // for a frame of another size than the stream's
	filter        string       // that frames go through; "": none
}

// rgbFrames lends memory for one.
var rgbFrames = scratch.Pool{Brief: true}

// Play implements [image.Frames].
func (v *Video) Play(ctx context.Context, it *record.Record, t *core.Tool, steps *fuse.Images, form media.Form, dst []byte) error {
	y := player{
		decode: steps.Decode, steps: steps.Steps, chance: &t.Chance, plan: &t.Plan,
		video: it.Opened.(*opened), to: image.NewFrameWriter(form, dst), filter: v.args.Filter,
	}
	if v.Planes() {
		y.planes = newPlanesWriter(v.args, &t.Plan)
	}
	if err := y.play(ctx); err != nil {
		return err
	}
	v.tellMatrix(it, y.planes)
	v.mask(it, y.video, y.damaged)
	return nil
}

func (y *player) play(ctx context.Context) error {
	y.begin()
	defer y.giveBack()
	if err := y.decoded(ctx); err != nil {
		return err
	}
	return y.finish()
}

func (y *player) begin() {
	y.rows = make([]int, len(y.video.frames))
	for i := range y.rows {
		y.rows[i] = i
	}
	slices.SortStableFunc(y.rows, func(a, b int) int { return cmp.Compare(y.video.frames[a], y.video.frames[b]) })
	y.came, y.damaged = map[int]bool{av.Blank: true}, map[int]bool{}
}

// finish makes the frames that have not come black, and notes that they are damaged.
func (y *player) finish() error {
	if err := y.black(av.Blank); err != nil { // what that is, the others say
		return err
	}
	for _, n := range y.video.frames {
		if y.came[n] {
			continue
		}
		y.came[n], y.damaged[n] = true, true
		if err := y.black(n); err != nil {
			return err
		}
	}
	return nil
}

// black makes a frame that is not in the video, or does not come.
func (y *player) black(n int) error {
	info := y.video.info()
	return y.put(n, func(to []byte) error {
		if y.planes != nil {
			y.planes.Black(to)
			return nil
		}
		form := y.decode.Form()
		form.Width, form.Height = info.Width, info.Height
		p := y.pixels(form)
		blacken(p)
		return media.CurrentRunner().Run(to, y.to.One.RowBytes(), p, y.plan)
	})
}

// show makes a frame that was decoded.
func (y *player) show(n int, f *video.Frame) error {
	y.came[n], y.damaged[n] = true, f.Damaged
	if y.planes != nil {
		return y.put(n, func(to []byte) error { return y.planes.Draw(to, f) })
	}
	plan, err := y.planFor(f, func() string { return fmt.Sprintf("frame %d, at %.3f s,", n, y.video.video.Seconds(n)) })
	if err != nil {
		return err
	}
	return y.put(n, func(to []byte) error {
		return video.Draw(to, y.to.One.RowBytes(), &f.Picture, plan, y.decode, y.pixels)
	})
}

// put writes a frame to all of its places.
func (y *player) put(n int, draw func(to []byte) error) error {
	at, found := slices.BinarySearchFunc(y.rows, n, func(row, n int) int { return cmp.Compare(y.video.frames[row], n) })
	if !found {
		return nil
	}
	first := y.rows[at]
	if err := y.to.Frame(first, draw); err != nil {
		return err
	}
	for _, row := range y.rows[at+1:] {
		if y.video.frames[row] != n {
			break
		}
		y.to.Repeat(row, first)
	}
	return nil
}

// planFor is the plan for a frame, whose name is for an error. A stream may change the
// size of its frames: that is well if the steps make one size of all.
func (y *player) planFor(f *video.Frame, name func() string) (*media.Plan, error) {
	if f.Kind == 0 {
		return nil, media.About("video", fmt.Errorf("%w: frames of the format %s", media.ErrUnsupported, f.Format))
	}
	info := y.video.info()
	if f.Width == info.Width && f.Height == info.Height {
		return y.plan, nil
	}
	width, height := info.Width, info.Height
	info.Width, info.Height = f.Width, f.Height
	if err := media.MakePlan(info, y.decode, y.steps, y.chance, &y.other); err != nil {
		return nil, err
	}
	if y.other.Form() != y.plan.Form() {
		return nil, fmt.Errorf("headrace: %s has %d×%d pixels, but the video has %d×%d: "+
			"resize to [height, width] makes one size of all",
			name(), f.Width, f.Height, width, height)
	}
	return &y.other, nil
}

// pixels is memory for a frame, of which there is one at a time.
func (y *player) pixels(f media.Form) media.Pixels {
	if n := int(record.StoredBytes(f)); y.rgb == nil || len(*y.rgb) < n {
		y.giveBack()
		y.rgb = rgbFrames.Take(n)
	}
	return media.Pixels{Data: *y.rgb, Stride: f.RowBytes(), Width: f.Width, Height: f.Height, Color: f.Color, DType: f.DType}
}

func (y *player) giveBack() {
	if y.rgb != nil {
		rgbFrames.Give(y.rgb)
		y.rgb = nil
	}
}

// blacken makes pixels black, and opaque.
func blacken(p media.Pixels) {
	clear(p.Data)
	if p.Color != media.RGBA {
		return
	}
	n := p.DType.Size()
	for y := range p.Height {
		for row := p.Row(y); len(row) > 0; row = row[4*n:] {
			for i := range n {
				row[3*n+i] = 255
			}
		}
	}
}
