package stills

import (
	"errors"
	"fmt"
	"io"

	"github.com/headrace/headrace/media"
)

func init() {
	for _, d := range Decoders() {
		media.Offer(d.format, media.Whole(d))
		media.OfferPalettes(d.format, d)
	}
}

// Decoder decodes one format. It implements media.PixelDecoder.
type Decoder struct {
	format string
	decode func(dst media.Pixels, src []byte, info *media.Info) error
}

// Decoders are all decoders of this package.
func Decoders() []Decoder {
	return []Decoder{{media.PNG, decodePNG}, {media.GIF, decodeGIF}, {media.BMP, decodeBMP},
		{media.TIFF, decodeTIFF}, {media.WebP, decodeWebP}}
}

// Format is what it decodes.
func (d Decoder) Format() string { return d.format }

// Name returns "go".
func (Decoder) Name() string { return "go" }

// DecodePixels implements media.PixelDecoder.
func (d Decoder) DecodePixels(dst media.Pixels, src []byte, info *media.Info) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %s: the decoder panics: %v", media.ErrCorrupt, d.format, p)
		}
	}()
	if err := dst.Check(); err != nil {
		return err
	}
	// Libraries allocate what the header says, so it must say what info says, which was
	// checked.
	own, err := media.Probe(src)
	if err != nil {
		return err
	}
	switch {
	case own.Format != d.format,
		own.Width != info.Width, own.Height != info.Height,
		dst.Width != own.Width, dst.Height != own.Height:
		return fmt.Errorf("%w: %v, not the %s of %d×%d pixels that it was taken for", media.ErrCorrupt,
			own, info.Format, info.Width, info.Height)
	}
	return d.decode(dst, src, &own)
}

// failure says in media's words what a library says in its own.
func failure(format string, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: %s: %w", media.ErrTruncated, format, err)
	}
	return fmt.Errorf("%w: %s: %w", media.ErrCorrupt, format, err)
}
