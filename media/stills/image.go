package stills

import (
	"encoding/binary"
	"fmt"
	"image"
	"image/color"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/samples"
)

// fill writes one of Go's images into dst. RGBA, whose colours would be multiplied with
// their alpha, is what the library uses for opaque images.
func fill(dst media.Pixels, img image.Image) error {
	if b := img.Bounds(); b.Dx() != dst.Width || b.Dy() != dst.Height {
		return fmt.Errorf("%w: an image of %d×%d pixels, its header says %d×%d", media.ErrCorrupt, b.Dx(), b.Dy(), dst.Width, dst.Height)
	}

	switch img := img.(type) {
	case *image.Gray:
		rows(dst, img.Pix, img.Stride, samples.Kind{Channels: 1})
	case *image.Gray16:
		rows(dst, img.Pix, img.Stride, samples.Kind{Channels: 1, Wide: true})
	case *image.NRGBA:
		rows(dst, img.Pix, img.Stride, samples.Kind{Channels: 4})
	case *image.NRGBA64:
		rows(dst, img.Pix, img.Stride, samples.Kind{Channels: 4, Wide: true})
	case *image.RGBA:
		rows(dst, img.Pix, img.Stride, samples.Kind{Channels: 4})
	case *image.RGBA64:
		rows(dst, img.Pix, img.Stride, samples.Kind{Channels: 4, Wide: true})
	case *image.Paletted:
		var p palette
		p.set(img.Palette)
		for y := range dst.Height {
			p.row(dst, y, img.Pix[y*img.Stride:][:dst.Width])
		}
	default:
		return fmt.Errorf("%w: an image of type %T", media.ErrUnsupported, img)
	}
	return nil
}

// rows converts all rows. Samples of 16 bits are big-endian, as Go's images have them;
// they are turned round in place.
func rows(dst media.Pixels, pix []byte, stride int, from samples.Kind) {
	to := samples.KindOf(dst)
	for y := range dst.Height {
		row := pix[y*stride:][:dst.Width*from.PixelBytes()]
		if from.Wide {
			for i := 0; i < len(row); i += 2 {
				binary.NativeEndian.PutUint16(row[i:], binary.BigEndian.Uint16(row[i:]))
			}
		}
		samples.Convert(dst.Row(y), to, row, from, dst.Width)
	}
}

// divide undoes, as far as that is possible, that colours of RGBA are multiplied with
// their alpha.
func divide(row []byte, wide bool) {
	if !wide {
		for ; len(row) >= 4; row = row[4:] {
			if a := int(row[3]); a != 0 && a != 255 {
				for i := range 3 {
					row[i] = byte(min(255*int(row[i])/a, 255))
				}
			}
		}
		return
	}
	for ; len(row) >= 8; row = row[8:] {
		if a := int(binary.NativeEndian.Uint16(row[6:])); a != 0 && a != 65535 {
			for i := range 3 {
				binary.NativeEndian.PutUint16(row[2*i:], uint16(min(65535*int(binary.NativeEndian.Uint16(row[2*i:]))/a, 65535)))
			}
		}
	}
}

// palette holds RGBA of 256 colours. Those that a file does not have are black, as in
// Pillow.
type palette struct {
	rgba  [256][4]byte
	drawn [256][8]byte // the same as pixels of dst, once there are any
	ready bool
}

func (p *palette) black() {
	for i := range p.rgba {
		p.rgba[i] = [4]byte{3: 255}
	}
}

// greys are the colours of an image that has none at all.
func (p *palette) greys() {
	for i := range p.rgba {
		p.rgba[i] = [4]byte{byte(i), byte(i), byte(i), 255}
	}
}

func (p *palette) set(colors color.Palette) {
	p.black()
	for i, c := range colors[:min(len(colors), 256)] {
		n := color.NRGBAModel.Convert(c).(color.NRGBA)
		p.rgba[i] = [4]byte{n.R, n.G, n.B, n.A}
	}
}

// row writes one row of dst. Colours do not change any more from the first on. A mask has
// the numbers themselves.
func (p *palette) row(dst media.Pixels, y int, indexes []byte) {
	if dst.Color == media.Mask {
		copy(dst.Row(y), indexes)
		return
	}
	to := samples.KindOf(dst)
	n := to.PixelBytes()
	if !p.ready {
		p.ready = true
		for i := range p.rgba {
			samples.Convert(p.drawn[i][:], to, p.rgba[i][:], samples.Kind{Channels: 4}, 1)
		}
	}

	row := dst.Row(y)
	switch n {
	case 1:
		for i, index := range indexes {
			row[i] = p.drawn[index][0]
		}
	case 3:
		for _, index := range indexes {
			c := &p.drawn[index]
			row[0], row[1], row[2] = c[0], c[1], c[2]
			row = row[3:]
		}
	default:
		for i, index := range indexes {
			copy(row[i*n:][:n], p.drawn[index][:])
		}
	}
}
