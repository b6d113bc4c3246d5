package custom

import (
	"fmt"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/op/core"
)

// Canvas gives an operation memory for the image that it makes: a field of this type in
// In is filled. Its memory is used again for other samples, so that an operation need not
// allocate any. The zero Canvas gives memory of its own, as tests of an operation need
// it.
type Canvas struct {
	work *core.Env
	Item *record.Record
}

// Pixels returns an image of this form that holds anything, for Out; one that is not
// given out goes back after the call. It panics where the form is none of a whole image:
// of uint8 or uint16, a pixel's channels side by side, height and width known.
func (c Canvas) Pixels(f media.Form) media.Pixels {
	switch {
	case !runnable(f), f.Color.Channels() == 0, f.Height <= 0, f.Width <= 0, f.Width > media.MaxPixels/f.Height:
		panic(fmt.Errorf("headrace: Canvas.Pixels of %v: must be uint8 or uint16, 1, 3 or 4 channels, "+
			"and at most %d pixels", f, media.MaxPixels))
	}
	if c.work == nil {
		return media.Pixels{Data: make([]byte, record.StoredBytes(f)), Stride: f.RowBytes(),
			Width: f.Width, Height: f.Height, Color: f.Color, DType: f.DType}
	}
	return c.Item.Values.NewImage(&c.work.Images, f).Pixels
}
