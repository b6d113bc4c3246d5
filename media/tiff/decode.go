//go:build cgo

package tiff

// #include "libtiff.h"
import "C"

import (
	"fmt"

	"github.com/headrace/headrace/internal/scratch"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/samples"
)

func init() {
	media.Register(media.TIFF, media.Whole(Decoder{}))
	media.OfferPalettes(media.TIFF, Decoder{})
}

// Decoder decodes TIFF with libtiff. It implements media.PixelDecoder.
type Decoder struct{}

// Name returns "libtiff".
func (Decoder) Name() string { return "libtiff" }

// DecodePixels implements media.PixelDecoder.
func (Decoder) DecodePixels(dst media.Pixels, src []byte, info *media.Info) error {
	lib, err := library()
	if err != nil {
		return err
	}
	return decodeWith(lib, dst, src, info)
}

func decodeWith(lib *C.hr_tiff_library, dst media.Pixels, src []byte, info *media.Info) error {
	if err := samples.Check(dst, src, info); err != nil {
		return err
	}
	f, err := openFile(lib, src, info.Width, info.Height)
	if err != nil {
		return err
	}
	defer f.close()

	i := image{file: f, dst: dst, planes: 1, line: int(f.head.line_bytes)}
	if err := i.pixel.read(f, dst, info.Alpha); err != nil {
		return err
	}
	if i.pixel.apart {
		i.planes = i.pixel.channels
	}
	if !i.pixel.converted {
		if err := i.checkLine(); err != nil {
			return err
		}
	}
	for len(f.handles) < i.planes {
		if err := f.openHandle(lib, src, info.Width, info.Height); err != nil {
			return err
		}
	}
	return i.decode()
}

// bandBytes is about how much is read in one call.
const bandBytes = 1 << 16

var buffers = scratch.Pool{Brief: true}

// image is a file that is being decoded.
type image struct {
	*file
	dst    media.Pixels
	pixel  pixel
	planes int // that are read
	line   int // bytes of a row of one plane of a strip or tile
}

func (i *image) decode() error {
	switch {
	case i.pixel.converted:
		return i.converted()
	case i.head.tile_width != 0:
		return i.tiles()
	}
	return i.strips()
}

// checkLine makes sure that libtiff writes as much as there is room for.
func (i *image) checkLine() error {
	width, h := i.dst.Width, &i.head
	if h.tile_width != 0 {
		width = int(h.tile_width)
	}
	stored := int(h.samples)
	if i.pixel.apart {
		stored = 1
	}
	want := (width*stored*int(h.bits) + 7) / 8
	if i.line != want || h.tile_width != 0 && int64(h.block_bytes) != int64(want)*int64(h.tile_height) {
		return fmt.Errorf("%w: tiff with rows of %d bytes, and %d pixels in each", media.ErrCorrupt, i.line, width)
	}
	return nil
}

// strips goes through the rows, some at a time.
func (i *image) strips() error {
	direct := i.pixel.isStored(i.dst)
	n := max(bandBytes/max(i.line*i.planes, 1), 1)
	band := buffers.Take(n * i.line * i.planes)
	defer buffers.Give(band)
	for y := 0; y < i.dst.Height; y += n {
		n := min(n, i.dst.Height-y)
		if direct {
			if err := i.rows(i.dst.Data[y*i.dst.Stride:], i.dst.Stride, y, n, 0); err != nil {
				return err
			}
			continue
		}
		for p := range i.planes {
			if err := i.rows((*band)[p*n*i.line:], i.line, y, n, p); err != nil {
				return err
			}
		}
		for k := range n {
			if err := i.draw(*band, n, k, 0, y+k, i.dst.Width); err != nil {
				return err
			}
		}
	}
	return nil
}

// tiles takes those of all planes at a place, one place after the other. What is beyond
// the image is padding.
func (i *image) tiles() error {
	width, height := int(i.head.tile_width), int(i.head.tile_height)
	tile := buffers.Take(height * i.line * i.planes)
	defer buffers.Give(tile)
	for y := 0; y < i.dst.Height; y += height {
		for x := 0; x < i.dst.Width; x += width {
			for p := range i.planes {
				if err := i.tile((*tile)[p*height*i.line:], x, y, p); err != nil {
					return err
				}
			}
			for k := range min(height, i.dst.Height-y) {
				if err := i.draw(*tile, height, k, x, y+k, min(width, i.dst.Width-x)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// draw writes row k of the rows of all planes to (x, y).
func (i *image) draw(block []byte, rows, k, x, y, width int) error {
	for p := range i.planes {
		i.pixel.unpack(p, block[(p*rows+k)*i.line:][:i.line], width)
	}
	return i.pixel.draw(part(i.dst, x, y, width), width)
}

// converted takes what libtiff makes of each strip or tile, from its last row to its
// first.
func (i *image) converted() error {
	width, height := int(i.head.tile_width), int(i.head.tile_height)
	tiled := width != 0
	if !tiled {
		width, height = i.dst.Width, int(i.head.strip_rows)
	}
	block := buffers.Take(4 * width * height)
	defer buffers.Give(block)
	for y := 0; y < i.dst.Height; y += height {
		rows, visible := height, min(height, i.dst.Height-y)
		if !tiled {
			rows = visible
		}
		for x := 0; x < i.dst.Width; x += width {
			if err := i.rgba(*block, x, y); err != nil {
				return err
			}
			for k := range visible {
				n := min(width, i.dst.Width-x)
				i.pixel.put(part(i.dst, x, y+k, n), (*block)[4*width*(rows-1-k):][:4*n], n)
			}
		}
	}
	return nil
}

// part is a piece of a row.
func part(dst media.Pixels, x, y, width int) media.Pixels {
	n := dst.PixelBytes()
	dst.Data = dst.Row(y)[x*n:][:width*n]
	dst.Width, dst.Height, dst.Stride = width, 1, width*n
	return dst
}

func unsupported(format string, args ...any) error {
	return fmt.Errorf("%w: tiff with "+format, append([]any{media.ErrUnsupported}, args...)...)
}
