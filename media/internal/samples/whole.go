package samples

import (
	"fmt"
	"math"

	"github.com/headrace/headrace/internal/scratch"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/tensor"
)

// KindOf is what the pixels of an image consist of.
func KindOf(p media.Pixels) Kind {
	return Kind{Channels: p.Color.Channels(), Wide: p.DType == tensor.Uint16}
}

// Check says why a whole image cannot be decoded to dst.
func Check(dst media.Pixels, src []byte, info *media.Info) error {
	if err := dst.Check(); err != nil {
		return err
	}
	if len(src) == 0 {
		return fmt.Errorf("%w: no data", media.ErrTruncated)
	}
	if dst.Width != info.Width || dst.Height != info.Height || dst.Stride > math.MaxInt32 {
		return fmt.Errorf("%w: %v for an image of %d×%d", media.ErrGeometry, dst.Form(), info.Width, info.Height)
	}
	return nil
}

// Decode has decode write an image of one kind, and makes that of dst of it: on the way,
// it is in memory that is used again, unless the kinds are the same.
func Decode(dst media.Pixels, has Kind, decode func(to []byte, stride int) error) error {
	to := KindOf(dst)
	if has == to {
		return decode(dst.Data, dst.Stride)
	}
	stride := dst.Width * has.PixelBytes()
	buffer := buffers.Take(stride * dst.Height)
	defer buffers.Give(buffer)
	if err := decode(*buffer, stride); err != nil {
		return err
	}
	for y := range dst.Height {
		Convert(dst.Row(y), to, (*buffer)[y*stride:], has, dst.Width)
	}
	return nil
}

var buffers = scratch.Pool{Brief: true}
