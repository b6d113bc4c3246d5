package serve

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/wire"
)

// encode makes an image file of the pixels in the inbox.
func (s *ioSession) encode(ctx context.Context) (*result, error) {
	if n := len(s.message.Inputs); n != 1 || s.message.Inputs[0].Path {
		return nil, fmt.Errorf("%w: encoding of %d inputs", wire.ErrProtocol, n)
	}

	in, pixels := s.input(0), s.task.pixels

	// The pixels, the file that is made of them, and what the encoder has in between.
	grant, err := s.engine.memory.ask(ctx, 3*int64(in.place.Length))
	if err != nil {
		return nil, err
	}
	defer grant.Release()

	defer in.forget()
	if err := in.readArray(); err != nil {
		return nil, err
	}
	pixels.Data = *in.data

	file, err := computedOn(ctx, s, &in, func() ([]byte, error) { return media.Encode(nil, pixels, s.task.encoding) })
	if err != nil {
		return nil, err
	}
	return s.bytesResult(ctx, file)
}

func (t *task) prepareEncode() (err error) {
	p := &t.pixels
	if p.DType, err = pixelType(t.DType); err != nil {
		return err
	}

	if len(t.Shape) != 3 {
		return fmt.Errorf("serve: pixels of shape %v: must be [height, width, channels]", t.Shape)
	}
	p.Height, p.Width = t.Shape[0], t.Shape[1]
	switch t.Shape[2] {
	case 1:
		p.Color = media.Gray
	case 3:
		p.Color = media.RGB
	case 4:
		p.Color = media.RGBA
	default:
		return fmt.Errorf("serve: pixels of %d channels: must be 1, 3 or 4", t.Shape[2])
	}

	// Divided, since a product of the client's numbers could overflow.
	if p.Height < 1 || p.Width < 1 || p.Width > media.MaxPixels/p.Height {
		return fmt.Errorf("serve: an image of %d×%d pixels", p.Width, p.Height)
	}
	p.Stride = p.Width * p.PixelBytes()

	t.encoding = media.EncodeOptions{
		Format: t.Format, Quality: t.Quality, Subsampling: t.Subsampling, Progressive: t.Progressive,
		Lossless: t.Lossless, Effort: t.Effort,
	}
	return nil
}
