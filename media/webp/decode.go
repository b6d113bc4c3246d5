//go:build cgo

package webp

// #cgo noescape hr_webp_decode
// #cgo nocallback hr_webp_decode
// #include "decode.h"
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/samples"
	"github.com/headrace/headrace/media/internal/webpfile"
	"github.com/headrace/headrace/tensor"
)

func init() { media.Register(media.WebP, media.Whole(Decoder{})) }

// Decoder decodes WebP with libwebp. It implements media.PixelDecoder.
type Decoder struct{}

// Name returns "libwebp" and its version, as in "libwebp-1.2.4".
func (Decoder) Name() string { return name }

var name = func() string {
	v := int(C.hr_webp_version())
	return fmt.Sprintf("libwebp-%d.%d.%d", v>>16, v>>8&0xFF, v&0xFF)
}()

// DecodePixels implements media.PixelDecoder. 8 bits of RGB and RGBA go straight to
// their place.
func (Decoder) DecodePixels(dst media.Pixels, src []byte, info *media.Info) error {
	if err := samples.Check(dst, src, info); err != nil {
		return err
	}

	rgb := media.Pixels{Width: dst.Width, Height: dst.Height, DType: tensor.Uint8}
	if dst.Color == media.RGBA {
		rgb.Color = media.RGBA
	}
	return samples.Decode(dst, samples.KindOf(rgb), func(to []byte, stride int) error {
		rgb.Data, rgb.Stride = to, stride
		return decode(rgb, src, info)
	})
}

// decode writes RGB or RGBA of 8 bits.
func decode(dst media.Pixels, src []byte, info *media.Info) error {
	if err := webpfile.Whole(src); err != nil {
		return err
	}

	width, height, at := info.Width, info.Height, 0
	if info.Animated {
		f, err := webpfile.First(src, info)
		if err != nil {
			return err
		}
		if len(f.Chunks) == 0 {
			return fmt.Errorf("%w: webp frame without an image", media.ErrCorrupt)
		}
		if f.Width != width || f.Height != height {
			for y := range height {
				clear(dst.Row(y)) // where no frame is, all is transparent and black
			}
		}
		src, width, height, at = f.Chunks, f.Width, f.Height, f.Top*dst.Stride+f.Left*dst.PixelBytes()
	}

	status := C.hr_webp_decode((*C.uint8_t)(unsafe.SliceData(src)), C.size_t(len(src)), (*C.uint8_t)(unsafe.SliceData(dst.Data[at:])),
		C.ptrdiff_t(dst.Stride), C.int(width), C.int(height), C.int(dst.Color.Channels()))
	if status != 0 {
		return decodeError(int(status))
	}

	if dst.Color == media.RGBA && !info.Alpha {
		for y := range dst.Height {
			for row := dst.Row(y); len(row) > 0; row = row[4:] {
				row[3] = 255
			}
		}
	}
	return nil
}

// decodeError is a VP8StatusCode, or what decode.h adds to them, as an error.
func decodeError(status int) error {
	switch status {
	case 1:
		return media.ErrMemory
	case 4:
		return fmt.Errorf("%w: libwebp: unsupported feature", media.ErrUnsupported)
	case 5, 7:
		return fmt.Errorf("%w: libwebp: not enough data", media.ErrTruncated)
	case C.HR_WEBP_OTHER_SIZE:
		return fmt.Errorf("%w: webp with another image size than its header says", media.ErrCorrupt)
	}
	return fmt.Errorf("%w: libwebp: error %d in the bitstream", media.ErrCorrupt, status)
}
