package stills

import (
	"bytes"
	"errors"
	"fmt"
	"image/png"

	"github.com/headrace/headrace/media"
)

func decodePNG(dst media.Pixels, src []byte, _ *media.Info) error {
	img, err := png.Decode(bytes.NewReader(src))
	if err != nil {
		if _, ok := errors.AsType[png.UnsupportedError](err); ok {
			return fmt.Errorf("%w: %w", media.ErrUnsupported, err)
		}
		if err == png.FormatError("not enough pixel data") {
			return fmt.Errorf("%w: %w", media.ErrTruncated, err)
		}
		return failure("png", err)
	}
	return fill(dst, img)
}
