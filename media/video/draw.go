package video

import (
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/yuv"
	"github.com/headrace/headrace/tensor"
)

// Info describes the frames of a stream, as the header of an image does.
func Info(s *av.Stream) media.Info {
	return media.Info{
		Format: s.Codec, Width: s.Width, Height: s.Height, Orientation: max(int(s.Orientation), 1), Components: 3, Bits: max(s.Depth, 8),
		Aspect: [2]int{int(s.Aspect.Num), int(s.Aspect.Den)},
	}
}

// planesRunner is a runner that can resize a frame before its colours are converted,
// where the plan allows that. It reports false where it cannot.
type planesRunner interface {
	RunPlanes(dst []byte, stride int, p *yuv.Picture, plan *media.Plan) (done bool, err error)
}

// Draw carries out a plan on a frame. Room is for its pixels, if they are needed on the
// way: an image of this form.
func Draw(dst []byte, stride int, p *yuv.Picture, plan *media.Plan, o media.Options, room func(media.Form) media.Pixels) error {
	if r, ok := media.CurrentRunner().(planesRunner); ok {
		if done, err := r.RunPlanes(dst, stride, p, plan); done || err != nil {
			return err
		}
	}
	to := yuv.Target{Data: dst, Stride: stride, Wide: o.DType == tensor.Uint16, Channels: o.Color.Channels()}
	if plan.Plain() {
		return yuv.Convert(to, p)
	}
	form := o.Form()
	form.Width, form.Height = p.Width, p.Height
	pixels := room(form)
	to.Data, to.Stride = pixels.Data, pixels.Stride
	if err := yuv.Convert(to, p); err != nil {
		return err
	}
	return media.CurrentRunner().Run(dst, stride, pixels, plan)
}
