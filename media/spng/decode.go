//go:build cgo

package spng

// #cgo LDFLAGS: -lspng
// #cgo noescape hr_spng_decode
// #cgo nocallback hr_spng_decode
// #include "decode.h"
import "C"

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"unsafe"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/samples"
	"github.com/headrace/headrace/tensor"
)

func init() { media.Register(media.PNG, media.Whole(Decoder{})) }

// Decoder decodes PNG with libspng. It implements media.PixelDecoder.
type Decoder struct{}

// Name returns "libspng" and its version, as in "libspng-0.7.3".
func (Decoder) Name() string { return name }

var name = "libspng-" + C.GoString(C.hr_spng_version())

// DecodePixels implements media.PixelDecoder.
func (Decoder) DecodePixels(dst media.Pixels, src []byte, info *media.Info) error {
	if err := samples.Check(dst, src, info); err != nil {
		return err
	}

	if err := checksums(src); err != nil {
		return err
	}

	form, has := choose(dst, info)
	return samples.Decode(dst, has, func(to []byte, stride int) error { return decode(to, stride, src, info, form) })
}

// checksums verifies those of all chunks that pixels depend on. A last one that is cut
// is left to the decoder.
func checksums(src []byte) error {
	for rest := src[min(8, len(src)):]; len(rest) >= 12; {
		n := uint64(binary.BigEndian.Uint32(rest))
		if n > uint64(len(rest)-12) {
			return nil
		}
		kind, body := string(rest[4:8]), rest[4:8+n]
		switch kind {
		case "IHDR", "PLTE", "tRNS", "IDAT":
			if crc32.ChecksumIEEE(body) != binary.BigEndian.Uint32(rest[8+n:]) {
				return fmt.Errorf("%w: png: a chunk %s whose checksum is wrong", media.ErrCorrupt, kind)
			}
		case "IEND":
			return nil
		}
		rest = rest[12+n:]
	}
	return nil
}

// choose returns the form nearest to that of dst that libspng has for an image.
func choose(dst media.Pixels, info *media.Info) (form C.int, has samples.Kind) {
	switch {
	case info.Bits == 16 && dst.DType == tensor.Uint16:
		return C.HR_SPNG_RGBA16, samples.Kind{Channels: 4, Wide: true}
	case dst.Color == media.RGBA:
		return C.HR_SPNG_RGBA8, samples.Kind{Channels: 4}
	case dst.Color == media.Gray && info.Components == 1 && !info.Palette && info.Bits <= 8:
		return C.HR_SPNG_G8, samples.Kind{Channels: 1}
	}
	return C.HR_SPNG_RGB8, samples.Kind{Channels: 3}
}

func decode(dst []byte, stride int, src []byte, info *media.Info, form C.int) error {
	var message *C.char
	kind := media.ErrCorrupt
	switch C.hr_spng_decode((*C.uint8_t)(unsafe.SliceData(src)), C.size_t(len(src)), (*C.uint8_t)(unsafe.SliceData(dst)),
		C.ptrdiff_t(stride),
		C.int(info.Width), C.int(info.Height), form, &message) {
	case C.HR_SPNG_OK:
		return nil
	case C.HR_SPNG_MEMORY:
		return media.ErrMemory
	case C.HR_SPNG_OTHER_SIZE:
		return fmt.Errorf("%w: png of another size than %d×%d pixels", media.ErrCorrupt, info.Width, info.Height)
	case C.HR_SPNG_TRUNCATED:
		kind = media.ErrTruncated
	}
	return fmt.Errorf("%w: libspng: %s", kind, C.GoString(message))
}
