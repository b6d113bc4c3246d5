package media

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
)

// goJPEGEncoder is image/jpeg, which has one subsampling and one scan.
type goJPEGEncoder struct{}

func (goJPEGEncoder) Name() string { return "go" }

func (goJPEGEncoder) AppendEncoded(dst []byte, p Pixels, o EncodeOptions) ([]byte, error) {
	if o.Progressive {
		return nil, fmt.Errorf("%w: encoding: progressive JPEG is written by media/turbo, "+
			"which needs cgo and libjpeg-turbo", ErrUnsupported)
	}
	if o.Subsampling != "4:2:0" && p.Color != Gray {
		return nil, fmt.Errorf("%w: encoding: JPEG with subsampling %s is written by media/turbo, which needs cgo and libjpeg-turbo",
			ErrUnsupported, o.Subsampling)
	}
	w := bytes.NewBuffer(dst)
	if err := jpeg.Encode(w, standard(p), &jpeg.Options{Quality: o.Quality}); err != nil {
		return nil, fmt.Errorf("media: encoding JPEG: %w", err)
	}
	return w.Bytes(), nil
}

// standard is the image as one of the types that image/jpeg reads fast. Grey ones
// share p's memory.
func standard(p Pixels) image.Image {
	bounds := image.Rect(0, 0, p.Width, p.Height)
	if p.Color == Gray {
		return &image.Gray{Pix: p.Data, Stride: p.Stride, Rect: bounds}
	}
	img := image.NewRGBA(bounds)
	for y := range p.Height {
		row, to := p.Row(y), img.Pix[y*img.Stride:][:p.Width*4]
		for len(to) > 0 {
			to[0], to[1], to[2], to[3] = row[0], row[1], row[2], 0xFF
			row, to = row[3:], to[4:]
		}
	}
	return img
}
