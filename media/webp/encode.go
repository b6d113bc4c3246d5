//go:build cgo

package webp

// #cgo LDFLAGS: -lwebp
// #cgo noescape hr_webp_encode
// #cgo nocallback hr_webp_encode
// #include "encode.h"
import "C"

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/tensor"
)

func init() { media.RegisterEncoder(media.WebP, Encoder{}) }

// Encoder writes WebP with libwebp. It implements media.Encoder.
type Encoder struct{}

// Name returns "libwebp".
func (Encoder) Name() string { return "libwebp" }

// AppendEncoded implements media.Encoder.
func (Encoder) AppendEncoded(dst []byte, p media.Pixels, o media.EncodeOptions) ([]byte, error) {
	if p.Color == media.Gray {
		p = colored(p)
	}
	if p.Stride > math.MaxInt32 {
		return nil, fmt.Errorf("%w: encoding WebP: rows %d bytes apart", media.ErrUnsupported, p.Stride)
	}
	picture := C.hr_webp_picture{width: C.int32_t(p.Width), height: C.int32_t(p.Height), quality: C.int32_t(o.Quality),
		effort: C.int32_t(o.Effort)}
	if p.Color == media.RGBA {
		picture.alpha = 1
	}
	if o.Lossless {
		picture.lossless = 1
	}
	var file C.hr_webp_file
	if code := C.hr_webp_encode(&picture, (*C.uint8_t)(unsafe.SliceData(p.Data)), C.int(p.Stride), &file); code != 0 {
		return nil, encodeError(int(code))
	}
	defer C.hr_webp_release(file.data)
	return append(dst, unsafe.Slice((*byte)(file.data), int(file.size))...), nil
}

// colored is a grey image in RGB: WebP has no grey.
func colored(p media.Pixels) media.Pixels {
	to := media.Pixels{Width: p.Width, Height: p.Height, Color: media.RGB, DType: tensor.Uint8, Stride: p.Width * 3}
	to.Data = make([]byte, 0, to.Stride*p.Height)
	for y := range p.Height {
		for _, v := range p.Row(y) {
			to.Data = append(to.Data, v, v, v)
		}
	}
	return to
}

// The numbers of WebPEncodingError that sizes can bring about.
var causes = map[int]string{5: "a side longer than 16383", 6: "more than 512 KiB in a partition",
	9: "more than 4 GiB"}

func encodeError(code int) error {
	if code == 1 || code == 2 {
		return media.ErrMemory
	}
	cause, ok := causes[code]
	if !ok {
		cause = fmt.Sprintf("error %d", code)
	}
	return fmt.Errorf("%w: encoding WebP: libwebp: %s", media.ErrUnsupported, cause)
}
