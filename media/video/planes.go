package video

import (
	"fmt"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/yuv"
	"github.com/headrace/headrace/tensor"
)

// PlanesOf has the layouts of planes by their names.
var PlanesOf = map[string]yuv.Planes{
	"yuv420": {ChromaX: 1, ChromaY: 1},
	"nv12":   {ChromaX: 1, ChromaY: 1, Interleaved: true},
	"yuv422": {ChromaX: 1},
	"yuv444": {},
}

// PlanesWriter writes frames as planes.
type PlanesWriter struct {
	form        yuv.Planes
	orientation int          // in which frames are stored
	first       *yuv.Picture // that came, without its parts; nil: none has come
	native      *Native      // whose numbers stay; nil: frames get the planes of form
}

// NewPlanesWriter makes one for planes of this form, by the plan that would make images
// of the frames.
func NewPlanesWriter(form yuv.Planes, plan *media.Plan) *PlanesWriter {
	return &PlanesWriter{form: form, orientation: max(plan.Orientation, 1)}
}

// PlanesForm returns the form of a frame's planes: one below the other in rows of one
// length or, where all are as large, one after the other.
func PlanesForm(l yuv.Planes) media.Form {
	f := media.Form{Color: media.Mask, DType: tensor.Uint8}
	if l.Wide {
		f.DType = tensor.Uint16
	}
	if f.Height, f.Width = l.Shape(); l.ChromaX == 0 && l.ChromaY == 0 {
		f.Height, f.Color, f.Layout = l.Height, media.RGB, media.CHW
	}
	return f
}

// planesResizer is a runner that resizes planes of bytes, and has chroma as asked for.
type planesResizer interface {
	ResizePlanes(p *yuv.Picture, width, height, chromaX, chromaY int, use func(*yuv.Picture) error) error
}

// Draw writes a frame.
func (w *PlanesWriter) Draw(to []byte, f *Frame) error {
	p, l := &f.Picture, &w.form
	if w.native != nil {
		w.note(p)
		return w.drawNative(to, f)
	}
	switch p.Kind {
	case 0:
		return unknownFormat(f)
	case yuv.RGB:
		if err := p.Check(); err != nil {
			return err
		}
		p = p.Coded()
	}
	w.note(p)

	if w.orientation > 1 {
		if turned := w.turned(p); !l.Has(&turned) && p.Kind == yuv.YUV { // made where it is: turned chroma is elsewhere
			if err := p.Check(); err != nil {
				return err
			}
			p = p.Resampled(0, 0)
		}
		p = p.Apart(w.orientation, l.Wide)
	}
	sized := p.Width == l.Width && p.Height == l.Height
	if sized && l.Has(p) {
		return l.Write(to, p)
	}
	if sized && l.Wide {
		if err := p.Check(); err != nil {
			return err
		}
		return l.Write(to, p.Resampled(l.ChromaX, l.ChromaY))
	}
	r, ok := media.CurrentRunner().(planesResizer)
	if !ok || l.Wide {
		return media.About("video", fmt.Errorf("%w: frames of %d×%d pixels in the format %s as planes of %d×%d: needs dtype uint8",
			media.ErrUnsupported, p.Width, p.Height, f.Format, l.Width, l.Height))
	}
	if p.Bits > 8 || p.Parts[0].Step > 1 || p.Parts[0].Stride < 0 || p.Parts[1].Step > 1 {
		p = p.Apart(1, false)
	}
	return r.ResizePlanes(p, l.Width, l.Height, l.ChromaX, l.ChromaY, func(small *yuv.Picture) error { return l.Write(to, small) })
}

// note keeps how colours come from the first frame.
func (w *PlanesWriter) note(p *yuv.Picture) {
	if w.first == nil {
		w.first = &yuv.Picture{Matrix: p.Matrix, Full: p.Full, Siting: p.Siting, Bits: p.Bits}
	}
}

// Form returns the form of a frame's array.
func (w *PlanesWriter) Form() media.Form {
	if n := w.native; n != nil && n.Channels > 0 {
		f := media.Form{Height: w.form.Height, Width: w.form.Width, DType: tensor.Uint8}
		f.Color = map[int]media.Color{1: media.Gray, 3: media.RGB, 4: media.RGBA}[n.Channels]
		if w.form.Wide {
			f.DType = tensor.Uint16
		}
		return f
	}
	return PlanesForm(w.form)
}

// turned returns the upright form of a frame, without its parts.
func (w *PlanesWriter) turned(p *yuv.Picture) yuv.Picture {
	to := yuv.Picture{Kind: p.Kind, ChromaX: p.ChromaX, ChromaY: p.ChromaY}
	if w.orientation > 4 { // sideways
		to.ChromaX, to.ChromaY = p.ChromaY, p.ChromaX
	}
	return to
}

// Black writes a frame that is not in the video.
func (w *PlanesWriter) Black(to []byte) {
	if n := w.native; n != nil && n.Channels > 0 {
		w.blackNative(to)
		return
	}
	told := w.Told()
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
}

// Told returns how colours come from planes: the number of the matrix in ITU-T H.273, 1
// for full range, where chroma is, the bits of a sample.
func (w *PlanesWriter) Told() [4]int64 {
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
