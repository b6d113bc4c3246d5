package video

import (
	"encoding/binary"
	"fmt"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/video"
	"github.com/headrace/headrace/media/yuv"
	"github.com/headrace/headrace/tensor"
)

// planesWriter writes frames as planes of 4:2:0.
type planesWriter struct {
	form        yuv.Planes
	orientation int          // in which frames are stored
	first       *yuv.Picture // that came, without its parts; nil: none has come
}

// newPlanesWriter makes one for a video, by the plan that would make images of its
// frames.
func newPlanesWriter(args *DecodeVideo, plan *media.Plan) *planesWriter {
	return &planesWriter{form: args.PlanesOf(plan.Width, plan.Height), orientation: max(plan.Orientation, 1)}
}

// planesForm returns the form of the planes of upright frames of this form.
func planesForm(args *DecodeVideo, f media.Form) media.Form {
	f.Height, f.Width = args.PlanesOf(f.Width, f.Height).Shape()
	f.Color = media.Gray
	return f
}

// planesResizer is a runner that resizes planes of bytes to 4:2:0.
type planesResizer interface {
	ResizePlanes(p *yuv.Picture, width, height int, use func(*yuv.Picture) error) error
}

// draw writes a frame.
func (w *planesWriter) draw(to []byte, f *video.Frame) error {
	p := &f.Picture
	if p.Kind != yuv.YUV && p.Kind != yuv.Gray {
		return media.About("video", fmt.Errorf("%w: frames of the format %s have no chroma: decode them to color rgb",
			media.ErrUnsupported, f.Format))
	}
	if w.first == nil {
		w.first = &yuv.Picture{Matrix: p.Matrix, Full: p.Full, Siting: p.Siting, Bits: p.Bits}
	}
	if w.orientation > 1 {
		p = p.Apart(w.orientation, w.form.Wide)
	}
	if p.Is420() && p.Width == w.form.Width && p.Height == w.form.Height {
		return w.form.Write(to, p)
	}
	r, ok := media.CurrentRunner().(planesResizer)
	if !ok || w.form.Wide {
		return media.About("video", fmt.Errorf("%w: frames of %d×%d pixels in the format %s as planes of 4:2:0 "+
			"with %d×%d: needs dtype uint8", media.ErrUnsupported, p.Width, p.Height, f.Format, w.form.Width, w.form.Height))
	}
	if p.Bits > 8 || p.Parts[0].Step > 1 || p.Parts[0].Stride < 0 || p.Parts[1].Step > 1 {
		p = p.Apart(1, false)
	}
	return r.ResizePlanes(p, w.form.Width, w.form.Height, func(small *yuv.Picture) error { return w.form.Write(to, small) })
}

// black writes a frame that is not in the video.
func (w *planesWriter) black(to []byte) error {
	told := w.told()
	full, bits := told[1] == 1, told[3]
	luma, chroma := uint16(16)<<(bits-8), uint16(1)<<(bits-1)
	if full {
		luma = 0
	}
	size, value := 1, luma
	if w.form.Wide {
		size = 2
	}
	_, columns := w.form.Shape()
	for i := 0; i < w.form.Bytes(); i += size {
		if i == w.form.Height*columns*size {
			value = chroma
		}
		if to[i] = byte(value); size == 2 {
			to[i+1] = byte(value >> 8)
		}
	}
	return nil
}

// told is how colours come from planes, as the field Matrix says it.
func (w *planesWriter) told() [4]int64 {
	told := [4]int64{int64(yuv.BT601), 0, 0, 8} // all frames are black
	if p := w.first; p != nil {
		told = [4]int64{int64(p.Matrix), 0, int64(p.Siting), int64(p.Bits)}
		if p.Full {
			told[1] = 1
		}
	}
	if !w.form.Wide {
		told[3] = 8
	}
	return told
}

// tellMatrix gives a record how colours come from its planes.
func (v *Video) tellMatrix(it *record.Record, w *planesWriter) {
	if w == nil || v.Matrix.Kind != record.Arrays {
		return
	}
	told := w.told()
	data := *it.Values.Borrow(&v.env.Images, 8*len(told))
	for i, n := range told {
		binary.NativeEndian.PutUint64(data[8*i:], uint64(n))
	}
	it.Values.Arrays[v.Matrix.At] = record.Array{Shape: tensor.Shape{len(told)}, Data: data}
}
