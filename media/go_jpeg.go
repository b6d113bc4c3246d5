package media

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io"

	"github.com/headrace/headrace/media/internal/orient"
	"github.com/headrace/headrace/tensor"
)

// GoJPEG is the decoder that needs no C: image/jpeg, and the resampler of this package.
// It decodes the whole image and allocates memory for it each time; what comes after
// that is as exact as elsewhere.
type GoJPEG struct{}

// Name returns "go".
func (GoJPEG) Name() string { return "go" }

// DecodeInto implements Decoder.
func (GoJPEG) DecodeInto(dst []byte, stride int, src []byte, info *Info, plan *Plan) error {
	if err := CheckTarget(dst, stride, plan); err != nil {
		return err
	}
	if info.Width > MaxPixels/max(info.Height, 1) {
		return fmt.Errorf("%w: %d×%d pixels", ErrTooLarge, info.Width, info.Height)
	}
	if err := info.checkScans(src); err != nil {
		return err
	}

	img, err := jpeg.Decode(bytes.NewReader(src))
	if err != nil {
		return goError(err)
	}
	if b := img.Bounds(); b.Dx() != info.Width || b.Dy() != info.Height {
		return fmt.Errorf("%w: JPEG of %d×%d pixels, its header says %d×%d", ErrCorrupt, b.Dx(), b.Dy(), info.Width, info.Height)
	}
	if err := plan.checkSource(info.Width, info.Height); err != nil {
		return err
	}

	s := goScratches.Get().(*goScratch)
	defer s.giveBack()
	return s.run(dst, stride, plan, func(part Rect) Pixels {
		f := plan.Options.Form()
		to := packed(&s.in, part.Width, part.Height, f.Color, f.DType)
		upright(to, img, plan.Orientation, part)
		return to
	})
}

// More scans than any image has, as in turbo's decode.c: each costs a pass over all
// coefficients, and a few bytes can ask for one. Of a large image, no more are read
// than pass over so many blocks.
const maxScans, usualScans, maxVisits = 500, 32, 1 << 26

func (i *Info) checkScans(src []byte) error {
	if !i.Scans {
		return nil
	}
	scans := int64(0)
	for rest := src[min(2, len(src)):]; ; {
		marker, _, after, err := nextSegment(rest)
		if err != nil {
			break
		}
		if marker == sos {
			scans++
		}
		rest = after
	}
	if scans > maxScans || scans > usualScans && scans*i.samples(src)/64 > maxVisits {
		return fmt.Errorf("%w: %d scans, more than any image needs", ErrCorrupt, scans)
	}
	return nil
}

// goError says in this package's words what image/jpeg says in its own.
func goError(err error) error {
	var unsupported jpeg.UnsupportedError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("%w: %w", ErrTruncated, err)
	case errors.As(err, &unsupported):
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return fmt.Errorf("%w: %w", ErrCorrupt, err)
}

// upright gives a part of the image, turned upright, to pixels of its size.
func upright(to Pixels, img image.Image, orientation int, part Rect) {
	width, height := img.Bounds().Dx(), img.Bounds().Dy()
	origin := img.Bounds().Min
	pixel := pixelReader(img)
	n := to.PixelBytes()
	for y := range part.Height {
		row := to.Row(y)
		for x := range part.Width {
			sx, sy := orient.At(orientation, width, height, part.X+x, part.Y+y)
			r, g, b := pixel(origin.X+sx, origin.Y+sy)
			putRGB(row[x*n:], to.Color, to.DType, r, g, b)
		}
	}
}

// putRGB writes an opaque pixel of 8 bits as one of another form.
func putRGB(dst []byte, c Color, d tensor.DType, r, g, b uint8) {
	v := [4]uint8{r, g, b, 255}
	if c == Gray {
		v[0] = lightness(r, g, b)
	}
	if d == tensor.Uint8 {
		copy(dst, v[:c.Channels()])
		return
	}
	for i := range c.Channels() {
		binary.NativeEndian.PutUint16(dst[2*i:], 257*uint16(v[i]))
	}
}

// ink is what a colour and black leave of white, rounded as Pillow rounds it.
func ink(c, k byte) byte {
	white := 255 - int(k)
	product := int(c)*white + 128
	return byte(white - (product+product>>8)>>8)
}

// pixelReader returns a function that reads a pixel without an allocation for each.
func pixelReader(img image.Image) func(x, y int) (r, g, b byte) {
	switch img := img.(type) {
	case *image.YCbCr:
		return func(x, y int) (r, g, b byte) {
			c := img.COffset(x, y)
			return color.YCbCrToRGB(img.Y[img.YOffset(x, y)], img.Cb[c], img.Cr[c])
		}
	case *image.Gray:
		return func(x, y int) (r, g, b byte) {
			v := img.Pix[img.PixOffset(x, y)]
			return v, v, v
		}
	case *image.CMYK:
		return func(x, y int) (r, g, b byte) {
			p := img.Pix[img.PixOffset(x, y):]
			return ink(p[0], p[3]), ink(p[1], p[3]), ink(p[2], p[3])
		}
	}
	return func(x, y int) (byte, byte, byte) {
		r, g, b, _ := img.At(x, y).RGBA()
		return byte(r >> 8), byte(g >> 8), byte(b >> 8)
	}
}
