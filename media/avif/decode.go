//go:build cgo

package avif

// #cgo noescape hr_avif_decode
// #cgo nocallback hr_avif_decode
// #include "decode.h"
import "C"

import (
	"bytes"
	"errors"
	"fmt"
	"unsafe"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/samples"
)

func init() { media.Register(media.AVIF, media.Whole(Decoder{})) }

// Decoder decodes AVIF with libavif. It implements media.PixelDecoder.
type Decoder struct{}

// Name returns "libavif".
func (Decoder) Name() string { return "libavif" }

// DecodePixels implements media.PixelDecoder.
func (Decoder) DecodePixels(dst media.Pixels, src []byte, info *media.Info) error {
	lib, err := library()
	if err != nil {
		return err
	}
	return decodeWith(lib, dst, src, info)
}

func decodeWith(lib *C.hr_avif, dst media.Pixels, src []byte, info *media.Info) error {
	if err := samples.Check(dst, src, info); err != nil {
		return err
	}

	to := samples.KindOf(dst)
	has := samples.Kind{Channels: 3, Wide: to.Wide && info.Bits > 8}
	if info.Alpha || dst.Color == media.RGBA {
		has.Channels = 4
	}

	draw := func(data []byte, stride int) error { return decode(lib, data, stride, src, info, has) }
	err := samples.Decode(dst, has, draw)
	if err == errHasAlpha {
		has.Channels = 4
		err = samples.Decode(dst, has, draw)
	}
	return err
}

// errHasAlpha: the image has an alpha channel, which must be decoded too, so that
// colours are not multiplied with it; sequences do not say so before.
var errHasAlpha = errors.New("media/avif: there is an alpha channel")

func decode(lib *C.hr_avif, dst []byte, stride int, src []byte, info *media.Info, kind samples.Kind) error {
	job := C.hr_avif_job{width: C.int32_t(info.Width), height: C.int32_t(info.Height), channels: C.int32_t(kind.Channels),
		depth: 8, max_pixels: media.MaxPixels}
	if kind.Wide {
		job.depth = 16
	}
	var message [256]byte
	result := C.hr_avif_decode(lib, &job, (*C.uint8_t)(unsafe.SliceData(src)), C.size_t(len(src)),
		(*C.uint8_t)(unsafe.SliceData(dst)), C.ptrdiff_t(stride),
		(*C.char)(unsafe.Pointer(&message[0])))
	switch result {
	case 0:
		return nil
	case C.HR_AVIF_OTHER_SIZE:
		return fmt.Errorf("%w: avif with another image size than its header says", media.ErrCorrupt)
	case C.HR_AVIF_HAS_ALPHA:
		return errHasAlpha
	case C.HR_AVIF_MEMORY:
		return media.ErrMemory
	}
	text, _, _ := bytes.Cut(message[:], []byte{0})
	return fmt.Errorf("%w: libavif: %s", kindOf(int(result)), text)
}

// kindOf sorts libavif's results, by their numbers, which are the same in all versions.
func kindOf(result int) error {
	const (
		unsupportedDepth, noCodec, truncated, waiting, notImplemented = 6, 15, 20, 23, 25
	)
	switch result {
	case truncated, waiting:
		return media.ErrTruncated
	case unsupportedDepth, noCodec, notImplemented:
		return media.ErrUnsupported
	}
	return media.ErrCorrupt
}
