//go:build cgo

package turbo

// #cgo noescape hr_frame_resize
// #cgo nocallback hr_frame_resize
// #include "frame.h"
import "C"

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/headrace/headrace/internal/scratch"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/orient"
	"github.com/headrace/headrace/media/internal/resample"
	"github.com/headrace/headrace/media/yuv"
	"github.com/headrace/headrace/tensor"
)

// frames resizes the planes of frames. Its tables are apart from those of images, so
// that neighbours in a video find them as they left them.
type frames struct {
	c    *C.hr_frame
	x, y [2]resample.Table // of luma, and of chroma
}

// RunPlanes carries out a plan on a frame of video as [media.Fast] allows: its planes are
// resized as they are stored, and colours are converted last, of no more pixels than the
// result has. It reports false where nothing is resized, or frames are of another kind
// than 8 bits in planes: then the plan is for Run, on RGB pixels. It keeps nothing of p.
func (Runner) RunPlanes(dst []byte, stride int, p *yuv.Picture, plan *media.Plan) (done bool, err error) {
	stage := &plan.Stages[0]
	switch {
	case plan.Options.Mode != media.Fast, !Usual(plan), !inPlanes(p):
		return false, nil
	case !stage.Resizes(), stage.Target() == (media.Rect{}): // nothing is gained, or all is fill
		return false, nil
	}
	if plan.Orientation > 1 && stage.Part != (media.Part{}) { // parts that begin within pixels are not turned back
		return false, nil
	}
	if err := p.Check(); err != nil {
		return false, err
	}
	if err := media.CheckTarget(dst, stride, plan); err != nil {
		return false, err
	}

	in := picture{width: p.Width, height: p.Height, orientation: max(plan.Orientation, 1)}
	s := untwisted(stage, &in)
	if !s.Crop.In(p.Width, p.Height) {
		return false, in.tooSmall()
	}

	h, err := borrow()
	if err != nil {
		return false, err
	}
	defer h.giveBack()
	if err := h.beginFrames(); err != nil {
		return false, err
	}
	defer C.hr_frame_trim(h.frames.c)
	return true, h.frame(dst, stride, p, plan, &s)
}

func (h *handle) beginFrames() error {
	if h.frames.c == nil {
		if h.frames.c = C.hr_frame_new(); h.frames.c == nil {
			return media.ErrMemory
		}
	}
	return nil
}

// inPlanes reports whether each part of an image has a byte a sample, one after the
// other.
func inPlanes(p *yuv.Picture) bool {
	if p.Bits != 8 || p.Kind != yuv.YUV && p.Kind != yuv.Gray {
		return false
	}
	for i := range parts(p) {
		if part := &p.Parts[i]; part.Step != 1 || part.Shift != 0 || part.Stride < 0 {
			return false
		}
	}
	return p.Parts[1].Stride == p.Parts[2].Stride
}

func parts(p *yuv.Picture) int {
	if p.Kind == yuv.Gray {
		return 1
	}
	return 3
}

// pixelsOfFrames lends memory for resized frames on which more is done.
var pixelsOfFrames = scratch.Pool{Brief: true}

// frame resizes a frame, by the first stage of a plan as it is for the stored image,
// and goes on with the rest of the plan.
func (h *handle) frame(dst []byte, stride int, p *yuv.Picture, plan *media.Plan, s *media.Stage) error {
	flipX, flipY, swap := orient.Parts(s.Turn)
	rest := media.Stage{Fill: s.Fill, Turn: 1, Passes: s.Passes}
	if swap {
		rest.Turn = transposed
	}
	if s.Pads() { // what is filled is mirrored, too
		flipX, flipY, rest.Turn = false, false, s.Turn
	}
	small, err := h.frames.resize(p, s, flipX, flipY, 0, 0)
	if err != nil {
		return err
	}
	done := len(plan.Stages) == 1 && rest.Turn == 1 && len(s.Passes) == 0 // but for colours
	if done && !s.Pads() && plain(plan) {
		return yuv.Convert(yuv.Target{Data: dst, Stride: stride}, small)
	}

	memory := pixelsOfFrames.Take(3*small.Width*small.Height + media.Slack)
	defer pixelsOfFrames.Give(memory)
	rgb := media.Pixels{Data: *memory, Stride: 3 * small.Width, Width: small.Width, Height: small.Height, DType: tensor.Uint8}
	if err := yuv.Convert(yuv.Target{Data: rgb.Data, Stride: rgb.Stride}, small); err != nil {
		return err
	}
	v := s.Visible()
	rest.Crop = media.Rect{Width: v.Width, Height: v.Height}
	rest.Width, rest.Height = v.Width, v.Height
	rest.Window = media.Rect{X: s.Window.X - v.X, Y: s.Window.Y - v.Y, Width: s.Window.Width, Height: s.Window.Height}
	after := *plan
	after.Orientation = 1
	after.Stages = append([]media.Stage{rest}, plan.Stages[1:]...)
	return h.run(dst, stride, picture{pixels: rgb, width: rgb.Width, height: rgb.Height, orientation: 1}, &after)
}

// transposed is the orientation that exchanges rows and columns.
const transposed = 5

// ResizePlanes resizes a frame of 8 bits, whose parts are planes, to one with chroma for
// each 1<<chromaX columns and 1<<chromaY rows, sited as before, and gives it to use,
// which must not keep it.
func (Runner) ResizePlanes(p *yuv.Picture, width, height, chromaX, chromaY int, use func(*yuv.Picture) error) error {
	if !inPlanes(p) {
		return fmt.Errorf("%w: resizing planes of %d bits", yuv.ErrUnsupported, p.Bits)
	}
	if err := p.Check(); err != nil {
		return err
	}
	h, err := borrow()
	if err != nil {
		return err
	}
	defer h.giveBack()
	if err := h.beginFrames(); err != nil {
		return err
	}
	defer C.hr_frame_trim(h.frames.c)
	whole := media.Rect{Width: width, Height: height}
	s := media.Stage{Crop: media.Rect{Width: p.Width, Height: p.Height}, Width: width, Height: height, Window: whole, Turn: 1}
	small, err := h.frames.resize(p, &s, false, false, chromaX, chromaY)
	if err != nil {
		return err
	}
	return use(small)
}

// resize makes all planes of the size that is visible of a stage, chroma with a sample
// for each 1<<chromaX columns and 1<<chromaY rows. The result is in the memory of f.
func (f *frames) resize(p *yuv.Picture, s *media.Stage, flipX, flipY bool, chromaX, chromaY int) (*yuv.Picture, error) {
	v, part := s.Visible(), s.Part.Of(s.Crop)
	n := parts(p)
	small := &yuv.Picture{Kind: p.Kind, Width: v.Width, Height: v.Height, Bits: 8, Matrix: p.Matrix, Full: p.Full, Siting: p.Siting,
		ChromaX: chromaX, ChromaY: chromaY}
	var planes [2]C.hr_frame_plane
	var first [3]*C.uint8_t
	var axes [4]C.hr_axis
	for i, parts := range [][]int{{0}, {1, 2}}[:min(n, 2)] {
		width, height := p.PartSize(i)
		across := extent{from: part.X, size: part.Width, in: width, out: s.Width}
		down := extent{from: part.Y, size: part.Height, in: height, out: s.Height}
		if i > 0 {
			across.subsample(p.ChromaX, p.Siting != yuv.Centre)
			down.subsample(p.ChromaY, p.Siting == yuv.TopLeft)
			for range chromaX {
				across.halve(p.Siting != yuv.Centre)
			}
			for range chromaY {
				down.halve(p.Siting == yuv.TopLeft)
			}
		}
		outWidth, outHeight := small.PartSize(i)
		x, xs := across.source(v.X, outWidth, s.Filter, flipX)
		y, ys := down.source(v.Y, outHeight, s.Filter, false)
		f.x[i].Set(x)
		f.y[i].Set(y)
		axes[2*i], axes[2*i+1] = axis(&f.x[i]), axis(&f.y[i])

		stride, behind := p.Parts[parts[0]].Stride, math.MaxInt
		for _, k := range parts {
			at := p.Parts[k].First + ys.first*stride + xs.first
			first[k] = (*C.uint8_t)(unsafe.Pointer(&p.Parts[k].Data[at]))
			behind = min(behind, len(p.Parts[k].Data)-at-(ys.n-1)*stride-xs.n)
		}
		planes[i] = C.hr_frame_plane{
			stride: C.int64_t(stride), behind: C.int64_t(behind), width: C.int32_t(xs.n), height: C.int32_t(ys.n),
			across: C.int32_t(xs.halved), down: C.int32_t(ys.halved),
		}
	}
	if n == 1 { // there are no others
		axes[2], axes[3] = axes[0], axes[1]
	}
	c := min(n, 2) - 1
	if C.hr_frame_resize(f.c, level(), C.int(n), &planes[0], &planes[c], first[0], first[1], first[2], &axes[0],
		spans(&f.x[0]), weights(&f.x[0]), spans(&f.y[0]), weights(&f.y[0]), spans(&f.x[c]),
		weights(&f.x[c]), spans(&f.y[c]), weights(&f.y[c])) == 0 {
		return nil, media.ErrMemory
	}
	for i := range n {
		var stride C.int64_t
		data := C.hr_frame_result(f.c, C.int(i), &stride)
		to := &small.Parts[i]
		width, height := small.PartSize(i)
		*to = yuv.Part{Data: unsafe.Slice((*byte)(data), (height-1)*int(stride)+width), Stride: int(stride), Step: 1}
		if flipY {
			to.First, to.Stride = (height-1)*to.Stride, -to.Stride
		}
	}
	return small, nil
}

// extent is what is resized of a row or a column of a plane, in its samples, of which
// there are in, and how many samples the whole becomes.
type extent struct {
	from, size float64
	in, out    int
	beside     bool // samples beside the part may be mixed in
}

// subsample makes an extent of pixels one of samples, of which each is for 1<<shift of
// them: in their middle or, if it is sited, on the first.
func (e *extent) subsample(shift int, sited bool) {
	scale := 1 / float64(int(1)<<shift)
	e.from *= scale
	e.size *= scale
	if sited {
		e.from += 0.5 - 0.5*scale
	}
}

// halve has the result be samples of chroma too, one for two pixels, sited as those that
// it is made of.
func (e *extent) halve(sited bool) {
	scale := e.size / float64(e.out)
	e.out = (e.out + 1) / 2
	e.size = 2 * scale * float64(e.out)
	if e.beside = true; sited { // the part is not all of the plane then
		e.from -= 0.5 * scale
	}
}

// source is the run of samples that an extent takes, of which 1<<halved become one before
// they are resized.
type source struct{ first, n, halved int }

// mostHalved keeps sums of 1<<(2*mostHalved) bytes in 16 bits.
const mostHalved = 4

// source has the samples of an extent, and the axis by which they, or their means,
// become n of the result from first on. Means of pairs are taken where they still are
// twice as many as the result has: nothing of the filter's shape is left of them, and
// they cost a fraction.
func (e extent) source(first, n int, filter media.Filter, flip bool) (resample.Axis, source) {
	s := source{first: min(int(e.from), e.in-1)}
	s.n = max(min(int(math.Ceil(e.from+e.size)), e.in)-s.first, 1)
	if e.beside {
		s = source{n: e.in}
	}
	for s.halved < mostHalved && e.size >= float64(int(4*e.out)<<s.halved) {
		s.halved++
	}
	scale := 1 / float64(int(1)<<s.halved)
	return resample.Axis{
		In: (s.n + 1<<s.halved - 1) >> s.halved, Out: e.out, First: first, N: n, Filter: resample.Filter(filter), Flip: flip,
		From: (e.from - float64(s.first)) * scale, Size: e.size * scale, Beside: e.beside,
	}, s
}
