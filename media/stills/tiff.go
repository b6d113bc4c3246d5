package stills

import (
	"encoding/binary"
	"fmt"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/samples"
)

// decodeTIFF decodes row by row, so that an image takes no more memory than a few of
// its rows, however its strips or tiles are cut.
func decodeTIFF(dst media.Pixels, src []byte, _ *media.Info) error {
	d := readDirectory(src)
	if err := d.check(); err != nil {
		return err
	}
	t := tiff{directory: d, dst: dst, bits: d.value(tagBits, 1), channels: max(d.numbers(tagBits).count, 1)}
	if err := t.layOut(); err != nil {
		return err
	}
	if err := t.readPalette(); err != nil {
		return err
	}
	for j := range t.down {
		for i := range t.across {
			if err := t.block(i, j); err != nil {
				return err
			}
		}
	}
	return nil
}

// tiff is an image that is being decoded. Its blocks are strips or tiles.
type tiff struct {
	directory
	dst            media.Pixels
	bits, channels int // of a sample, and of a pixel

	blockWidth, blockHeight int
	across, down            int
	offsets, counts         numbers // of blocks
	row                     []byte
	left                    int // compressed bytes that may still be read
	unpacker                unpacker

	palette palette
	colors  int
	indexes []byte // of a row
}

// layOut finds out how the image is cut into blocks.
func (t *tiff) layOut() error {
	width, height := t.dst.Width, t.dst.Height
	offsets, counts := uint16(tagStripOffsets), uint16(tagStripBytes)
	t.blockWidth, t.blockHeight = width, height
	if tile := t.value(tagTileWidth, 0); tile != 0 {
		offsets, counts = tagTileOffsets, tagTileBytes
		t.blockWidth, t.blockHeight = tile, t.value(tagTileHeight, 0)
		if min(t.blockWidth, t.blockHeight) < 8 || t.blockWidth > max(width+16, 1024) {
			return fmt.Errorf("%w: tiff with tiles of %d×%d pixels", media.ErrCorrupt, t.blockWidth, t.blockHeight)
		}
	} else if rows := t.value(tagStripRows, 0); rows > 0 {
		t.blockHeight = min(rows, height)
	}
	t.across, t.down = (width+t.blockWidth-1)/t.blockWidth, (height+t.blockHeight-1)/t.blockHeight
	t.offsets, t.counts = t.numbers(offsets), t.numbers(counts)
	if n := t.across * t.down; t.offsets.count < n || t.counts.count < n {
		return fmt.Errorf("%w: tiff with %d offsets and %d lengths of %d strips or tiles",
			media.ErrCorrupt, t.offsets.count, t.counts.count, n)
	}
	t.row = make([]byte, (t.blockWidth*t.channels*t.bits+7)/8)
	// Blocks may share bytes, as blank ones do. All together have no reason to be
	// longer than the file and the pixels.
	t.left = len(t.src) + len(t.row)*t.across*height
	return nil
}

// block decodes a block. Rows and columns that are beyond the image are padding.
func (t *tiff) block(i, j int) error {
	x, y := i*t.blockWidth, j*t.blockHeight
	width, rows := min(t.blockWidth, t.dst.Width-x), min(t.blockHeight, t.dst.Height-y)
	n := j*t.across + i
	at := min(t.offsets.at(n), len(t.src))
	compressed := t.src[at:][:min(t.counts.at(n), len(t.src)-at)]

	r, err := t.unpacker.open(t, compressed)
	if err != nil {
		return failure("tiff", err)
	}
	for k := range rows {
		if err := readRow(r, t.row); err != nil {
			return fmt.Errorf("%w (row %d of %d)", failure("tiff", err), y+k, t.dst.Height)
		}
		if err := t.draw(x, y+k, width); err != nil {
			return err
		}
	}
	if t.left -= len(compressed) - t.unpacker.in.Len(); t.left < 0 {
		return fmt.Errorf("%w: tiff with strips or tiles that overlap", media.ErrCorrupt)
	}
	return nil
}

// draw writes a part of a row of dst.
func (t *tiff) draw(x, y, width int) error {
	from := samples.Kind{Channels: t.channels, Wide: t.bits == 16}
	row := t.row
	if t.value(tagPredictor, 1) == 2 {
		t.undoDifferences(row)
	}
	if t.bits == 1 {
		t.spread(row)
		row = t.indexes
	}
	row = row[:width*from.PixelBytes()]
	to := samples.KindOf(t.dst)
	out := t.dst.Row(y)[x*to.PixelBytes():]

	if t.value(tagPhotometric, 0) == inPalette {
		for _, index := range row {
			if int(index) >= t.colors {
				return fmt.Errorf("%w: tiff with color %d of %d", media.ErrCorrupt, index, t.colors)
			}
		}
		part := t.dst
		part.Data, part.Width, part.Height = out, width, 1
		t.palette.row(part, 0, row)
		return nil
	}
	if from.Wide {
		for i := 0; i < len(row); i += 2 {
			binary.NativeEndian.PutUint16(row[i:], t.order.Uint16(row[i:]))
		}
	}
	if t.value(tagPhotometric, 0) == whiteIsZero {
		for i := range row {
			row[i] = ^row[i]
		}
	}
	if t.channels == 4 && t.value(tagExtraSamples, 0) == 1 {
		divide(row, from.Wide)
	}
	samples.Convert(out, to, row, from, width)
	return nil
}

// undoDifferences makes samples of what a row says: how much each differs from that of
// the pixel before.
func (t *tiff) undoDifferences(row []byte) {
	if t.bits == 8 {
		for i := t.channels; i < len(row); i++ {
			row[i] += row[i-t.channels]
		}
		return
	}
	n := 2 * t.channels
	for i := n; i < len(row); i += 2 {
		t.order.PutUint16(row[i:], t.order.Uint16(row[i:])+t.order.Uint16(row[i-n:]))
	}
}

// spread makes a byte of each bit: an index, or black and white.
func (t *tiff) spread(row []byte) {
	if t.indexes == nil {
		t.indexes = make([]byte, 8*len(row))
	}
	one := byte(255)
	if t.value(tagPhotometric, 0) == inPalette {
		one = 1
	}
	for i, b := range row {
		for k := range 8 {
			t.indexes[8*i+k] = b >> (7 - k) & 1 * one
		}
	}
}

// readPalette reads the colors, all red values before all green ones.
func (t *tiff) readPalette() error {
	if t.value(tagPhotometric, 0) != inPalette {
		return nil
	}
	all := t.numbers(tagColorMap)
	n := all.count / 3
	if n < 1 || n > 256 || all.count%3 != 0 {
		return fmt.Errorf("%w: tiff with a palette of %d values", media.ErrCorrupt, all.count)
	}
	t.palette.black()
	for i := range n {
		for c := range 3 {
			t.palette.rgba[i][c] = byte(all.at(c*n+i) >> 8)
		}
	}
	t.colors = n
	return nil
}
