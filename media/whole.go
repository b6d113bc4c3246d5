package media

import (
	"fmt"

	"github.com/headrace/headrace/internal/scratch"
	"github.com/headrace/headrace/tensor"
)

// PixelDecoder decodes whole images of one format, without regard to what becomes of
// them.
type PixelDecoder interface {
	// Name tells which implementation this is.
	Name() string
	// DecodePixels writes the image as stored into dst, which has its size. Where dst
	// has more channels or bits than the image, or fewer, what Options says of Color
	// and DType holds; the background is not its matter. An animation gives its first
	// frame. After an error dst holds anything. It keeps neither dst nor src.
	DecodePixels(dst Pixels, src []byte, info *Info) error
}

// Whole makes a Decoder of a PixelDecoder: the image is decoded into memory that is
// used again, and the [Runner] does the rest.
func Whole(d PixelDecoder) Decoder { return whole{d} }

type whole struct{ d PixelDecoder }

func (w whole) Name() string { return w.d.Name() }

func (w whole) DecodeInto(dst []byte, stride int, src []byte, info *Info, plan *Plan) error {
	if err := CheckTarget(dst, stride, plan); err != nil {
		return err
	}
	if info.Width <= 0 || info.Height <= 0 || info.Width > MaxPixels/info.Height {
		return fmt.Errorf("%w: %d×%d pixels", ErrTooLarge, info.Width, info.Height)
	}
	if err := plan.checkSource(info.Width, info.Height); err != nil {
		return err
	}

	o := plan.Options
	blend := o.Background != nil && info.Alpha
	if blend {
		o.Color = RGBA
	}

	f := o.Form()
	f.Width, f.Height = info.Width, info.Height
	if plan.Plain() && f.Width == plan.Width && f.Height == plan.Height {
		return w.d.DecodePixels(Pixels{dst, stride, f.Width, f.Height, f.Color, f.DType}, src, info)
	}

	// Runners may read Slack bytes after the last row.
	buffer := wholes.Take(f.RowBytes()*f.Height + Slack)
	defer wholes.Give(buffer)
	p := Pixels{*buffer, f.RowBytes(), f.Width, f.Height, f.Color, f.DType}
	if err := w.d.DecodePixels(p, src, info); err != nil {
		return err
	}

	if blend {
		p = onto(p, *plan.Options.Background, plan.Options.Color)
	}

	if r := CurrentRunner(); r.Name() == (GoRunner{}).Name() || f.Color != RGB || f.DType != tensor.Uint8 {
		return goRun(dst, stride, p, plan, true)
	}
	return CurrentRunner().Run(dst, stride, p, plan)
}

// Slack is the number of bytes after the last row that a [Runner] is faster for being
// allowed to read.
const Slack = 1024

var wholes = scratch.Pool{Brief: true}

// grow returns memory of n bytes: b's, where that is enough.
func grow(b []byte, n int) []byte {
	if cap(b) < n {
		scratch.Free(b)
		return scratch.Make(n)
	}
	return b[:n]
}
