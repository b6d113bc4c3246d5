package stills

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"

	"golang.org/x/image/webp"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/samples"
	"github.com/headrace/headrace/media/internal/webpfile"
)

func decodeWebP(dst media.Pixels, src []byte, info *media.Info) error {
	if err := webpfile.Whole(src); err != nil {
		return err
	}

	left, top := 0, 0
	if info.Animated {
		f, err := webpfile.First(src, info)
		if err != nil {
			return err
		}
		src, left, top = stillOf(f.Chunks, f.Width, f.Height), f.Left, f.Top
	}

	img, err := webp.Decode(bytes.NewReader(src))
	if err != nil {
		return webpFailure(err)
	}
	line := make([]byte, 4*dst.Width)
	pixels, err := webpRows(img)
	if err != nil {
		return err
	}

	bounds := img.Bounds()
	covers := bounds.Dx() == dst.Width && bounds.Dy() == dst.Height
	if left+bounds.Dx() > dst.Width || top+bounds.Dy() > dst.Height || !info.Animated && !covers {
		return fmt.Errorf("%w: webp with an image of %d×%d pixels on a canvas of %d×%d", media.ErrCorrupt,
			bounds.Dx(), bounds.Dy(), dst.Width, dst.Height)
	}

	for y := range dst.Height {
		clear(line) // where no frame is, all is transparent and black
		if n := y - top; n >= 0 && n < bounds.Dy() {
			pixels(line[4*left:][:4*bounds.Dx()], n)
		}
		if !info.Alpha {
			for i := 3; i < len(line); i += 4 {
				line[i] = 255
			}
		}
		samples.Convert(dst.Row(y), samples.KindOf(dst), line, samples.Kind{Channels: 4}, dst.Width)
	}
	return nil
}

// webpRows returns a function that writes one row of RGBA.
func webpRows(img image.Image) (func(line []byte, y int), error) {
	switch img := img.(type) {
	case *image.NRGBA:
		return func(line []byte, y int) { copy(line, img.Pix[y*img.Stride:]) }, nil
	case *image.YCbCr:
		return func(line []byte, y int) {
			interpolatedRow(line, img, y)
		}, nil
	case *image.NYCbCrA:
		return func(line []byte, y int) {
			interpolatedRow(line, &img.YCbCr, y)
			for x, a := range img.A[y*img.AStride:][:len(line)/4] {
				line[4*x+3] = a
			}
		}, nil
	}
	return nil, fmt.Errorf("%w: an image of type %T", media.ErrUnsupported, img)
}

// stillOf puts a frame's chunks after the header of a still.
func stillOf(chunks []byte, width, height int) []byte {
	header := make([]byte, 0, 30+len(chunks))
	header = append(header, "RIFF\x00\x00\x00\x00WEBPVP8X\x0A\x00\x00\x00"...)
	flags := byte(0)
	if len(chunks) >= 4 && string(chunks[:4]) == "ALPH" {
		flags = 0x10
	}
	header = append(header, flags, 0, 0, 0)
	for _, v := range [...]int{width - 1, height - 1} {
		header = append(header, byte(v), byte(v>>8), byte(v>>16))
	}
	file := append(header, chunks...)
	binary.LittleEndian.PutUint32(file[4:], uint32(len(file)-8))
	return file
}

// webpFailure tells a file that ends too early from one that is wrong: the library says
// the former in several ways.
func webpFailure(err error) error {
	if err.Error() == "riff: short chunk data" || err.Error() == "riff: missing padding byte" {
		return fmt.Errorf("%w: webp: %w", media.ErrTruncated, err)
	}
	return failure("webp", err)
}
