package video

import (
	"fmt"
	"strings"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/orient"
	"github.com/headrace/headrace/media/yuv"
)

// Native is the layout of frames that keep the numbers of the decoder.
type Native struct {
	Format   string     // the decoder's name of it
	Planes   yuv.Planes // without a size; what of it is Wide holds without planes, too
	Channels int        // of pixels that have no planes: 1, 3 or 4; 0: there are planes
}

// NativeOf returns the layout for frames like this one, which is that of the color with
// the same planes or channels.
func NativeOf(f *Frame) (n Native, err error) {
	p := &f.Picture
	n.Format, n.Planes.Wide = f.Format, p.Bits > 8
	instead, alpha := "", p.Alpha.Data != nil

	switch {
	case p.Kind == 0:
		return n, unknownFormat(f)
	case alpha && p.Kind != yuv.RGB:
		instead = "rgba"
	case p.Kind == yuv.Gray:
		n.Channels = 1
	case p.Kind == yuv.RGB && alpha:
		n.Channels = 4
	case p.Kind == yuv.RGB:
		n.Channels = 3
	case p.ChromaX == 1 && p.ChromaY <= 1, p.ChromaX == 0 && p.ChromaY == 0:
		n.Planes.ChromaX, n.Planes.ChromaY = p.ChromaX, p.ChromaY
		n.Planes.Interleaved = f.Format == "nv12" || strings.HasPrefix(f.Format, "p01")
	default:
		instead = "yuv444"
	}

	if instead != "" {
		return n, media.About("video", fmt.Errorf("%w: frames of the format %s have no array of their own: use color %q",
			media.ErrUnsupported, f.Format, instead))
	}
	return n, nil
}

// NewNativeWriter makes a writer for frames that keep the numbers of the decoder, by the
// plan that would make images of them.
func NewNativeWriter(n Native, plan *media.Plan) *PlanesWriter {
	l := n.Planes
	l.Width, l.Height = plan.Width, plan.Height
	w := NewPlanesWriter(l, plan)
	w.native = &n
	return w
}

func unknownFormat(f *Frame) error {
	return media.About("video", fmt.Errorf("%w: frames of the format %s", media.ErrUnsupported, f.Format))
}

// drawNative writes a frame with the decoder's numbers.
func (w *PlanesWriter) drawNative(to []byte, f *Frame) error {
	p, n, l := &f.Picture, w.native, &w.form
	width, height := orient.Size(w.orientation, p.Width, p.Height)
	if f.Format != n.Format || width != l.Width || height != l.Height {
		return media.About("video", fmt.Errorf("%w: frames change from %d×%d pixels in the format %s to %d×%d in %s: "+
			"name a color instead of \"native\", and a size", media.ErrUnsupported, l.Width, l.Height, n.Format, width, height, f.Format))
	}
	if err := p.Check(); err != nil {
		return err
	}

	if n.Channels > 0 {
		p.Interleave(to, n.Channels, l.Wide, w.orientation)
		return nil
	}
	if turned := w.turned(p); !l.Has(&turned) {
		return media.About("video", fmt.Errorf("%w: frames of the format %s that are turned on their side: "+
			"set orient=False, or name a color", media.ErrUnsupported, f.Format))
	}
	if w.orientation > 1 {
		p = p.Apart(w.orientation, l.Wide)
	}
	return l.Write(to, p)
}

// blackNative writes a frame of channels that is not in the video.
func (w *PlanesWriter) blackNative(to []byte) {
	size, told := 1, w.Told()
	if w.form.Wide {
		size = 2
	}
	for i := 0; i < w.bytes(); i += size {
		value := 0
		switch {
		case w.native.Channels == 4 && i/size%4 == 3:
			value = 1<<told[3] - 1
		case w.native.Channels == 1 && told[1] == 0:
			value = 16 << (told[3] - 8)
		}
		if to[i] = byte(value); size == 2 {
			to[i+1] = byte(value >> 8)
		}
	}
}

// bytes is the size of a frame's array.
func (w *PlanesWriter) bytes() int { return int(w.Form().Bytes()) }
