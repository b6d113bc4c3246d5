package media

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
)

func isTIFF(data []byte) bool {
	for _, magic := range [...]string{"II*\x00", "MM\x00*", "II+\x00", "MM\x00+"} {
		if bytes.HasPrefix(data, []byte(magic)) {
			return true
		}
	}
	return false
}

// The tags of a TIFF directory that are read here.
const (
	tiffWidth        = 256
	tiffHeight       = 257
	tiffBits         = 258
	tiffCompression  = 259
	tiffPhotometric  = 262
	tiffOrientation  = 274
	tiffSamples      = 277
	tiffStripRows    = 278
	tiffPlanar       = 284
	tiffTileWidth    = 322
	tiffTileHeight   = 323
	tiffXMP          = 700
	tiffExtraSamples = 338
)

// TIFFTilePixels is how many pixels a tile may have, whatever the size of its image. A
// larger image may have tiles of four times its own pixels.
const TIFFTilePixels = 1 << 22

// probeTIFF reads the first directory. Further ones are further images.
func probeTIFF(data []byte) (Info, error) {
	info := Info{Format: TIFF, Orientation: 1, Components: 1, Bits: 1}
	d, err := readTIFF(&info, data)
	if err != nil {
		return info, err
	}

	// What memory decoding takes is reckoned from both.
	if info.Components < 1 || info.Components > 64 || info.Bits < 1 || info.Bits > 64 {
		return info, fmt.Errorf("%w: TIFF with %d samples of %d bits", ErrCorrupt, info.Components, info.Bits)
	}

	info.Palette = d.photometric == 3
	unsaid := d.photometric == 2 && info.Components == 4 && !d.hasExtra // of RGB and one more
	info.Alpha = d.extra == 1 || d.extra == 2 || unsaid
	if info.Width == 0 && info.Height == 0 {
		return info, fmt.Errorf("%w: TIFF without a size", ErrCorrupt)
	}

	info.Orientation = d.orientation
	if !d.hasOrientation {
		info.Orientation = xmpOrientation(d.xmp)
	}
	if info.Orientation < 1 || info.Orientation > 8 {
		info.Orientation = 1
	}
	return info, nil
}

// readTIFF reads what Info has of the first directory, and the rest of what is known
// here.
func readTIFF(info *Info, data []byte) (tiffDirectory, error) {
	d := tiffDirectory{photometric: -1, compression: 1}
	if len(data) < 8 {
		return d, cutHeader("TIFF")
	}
	f := tiffFile{data: data, order: binary.LittleEndian, number: 4, counted: 2}
	if data[0] == 'M' {
		f.order = binary.BigEndian
	}

	at := uint64(f.order.Uint32(data[4:]))
	if f.order.Uint16(data[2:]) == 43 { // BigTIFF
		f.number, f.counted = 8, 8
		if len(data) < 16 {
			return d, cutHeader("BigTIFF")
		}
		at = f.order.Uint64(data[8:])
	}

	size := uint64(len(data))
	if at > size || size-at < f.counted {
		return d, fmt.Errorf("%w: TIFF ends before its directory", ErrTruncated)
	}
	n := uint64(f.order.Uint16(data[at:]))
	if f.counted == 8 {
		n = f.order.Uint64(data[at:])
	}
	at += f.counted
	entry := 4 + 2*f.number
	if n > (size-at)/entry {
		return d, fmt.Errorf("%w: TIFF ends within its directory", ErrTruncated)
	}

	end := at + n*entry
	for entries := data[at:end]; len(entries) > 0; entries = entries[entry:] {
		d.take(info, &f, entries[:entry])
	}
	info.Animated = size-end >= f.number && f.integer(data[end:], f.number) != 0
	return d, nil
}

// tiffFile is how the numbers of a file are written.
type tiffFile struct {
	data            []byte
	order           binary.ByteOrder
	number, counted uint64 // bytes of offsets and of counts of values; of the count of entries
}

// integer reads an unsigned number of 4 or 8 bytes.
func (f *tiffFile) integer(b []byte, size uint64) uint64 {
	if size == 8 {
		return f.order.Uint64(b)
	}
	return uint64(f.order.Uint32(b))
}

// values is where the values of an entry are, if all are in the file.
func (f *tiffFile) values(entry []byte, size uint64) (values []byte, ok bool) {
	count := f.integer(entry[4:], f.number)
	value := entry[4+f.number:]
	switch {
	case count == 0 || count > uint64(len(f.data)):
		return nil, false
	case count*size <= f.number:
		return value[:count*size], true
	}
	at := f.integer(value, f.number)
	if at > uint64(len(f.data)) || count*size > uint64(len(f.data))-at {
		return nil, false
	}
	return f.data[at : at+count*size], true
}

// first returns the first value of an entry. Any type of integer is taken but bytes.
func (f *tiffFile) first(entry []byte) (int, bool) {
	const short, long, signedShort, signedLong, long8 = 3, 4, 8, 9, 16
	size := uint64(4)
	switch f.order.Uint16(entry[2:]) {
	case short, signedShort:
		size = 2
	case long, signedLong:
	case long8:
		size = 8
	default:
		return 0, false
	}
	v, ok := f.values(entry, size)
	switch {
	case !ok:
		return 0, false
	case size == 2:
		return int(f.order.Uint16(v)), true
	case size == 4:
		return int(int32(f.order.Uint32(v))), true
	}
	return int(min(f.order.Uint64(v), math.MaxInt32)), true
}

// tiffDirectory is what of a directory has its meaning only together, and how its image
// is cut into pieces.
type tiffDirectory struct {
	photometric, extra, orientation int
	hasExtra, hasOrientation        bool
	xmp                             []byte

	compression, planar              int
	stripRows, tileWidth, tileHeight int
}

func (d *tiffDirectory) take(info *Info, f *tiffFile, entry []byte) {
	tag := f.order.Uint16(entry)
	if tag == tiffXMP {
		d.xmp, _ = f.values(entry, 1)
		return
	}

	v, ok := f.first(entry)
	if !ok {
		return
	}
	switch tag {
	case tiffWidth:
		info.Width = v
	case tiffHeight:
		info.Height = v
	case tiffBits:
		info.Bits = v
	case tiffCompression:
		d.compression = v
	case tiffPhotometric:
		d.photometric = v
	case tiffOrientation:
		d.orientation, d.hasOrientation = v, true
	case tiffSamples:
		info.Components = v
	case tiffStripRows:
		d.stripRows = v
	case tiffPlanar:
		d.planar = v
	case tiffTileWidth:
		d.tileWidth = v
	case tiffTileHeight:
		d.tileHeight = v
	case tiffExtraSamples:
		d.extra, d.hasExtra = v, true
	}
}

// tiffBytes is what decoding takes beside a few rows: a tile, of all planes; and a strip
// or tile where libtiff converts YCbCr, or where a codec keeps all that it makes.
func (i *Info) tiffBytes(src []byte) int64 {
	const ycbcr, jpeg = 6, 7
	var own Info
	d, err := readTIFF(&own, src)
	if err != nil {
		return 0
	}
	stored := int64(i.Components) * int64((i.Bits+7)/8)
	area := int64(i.Width) * int64(i.Height)
	tile := int64(d.tileWidth) * int64(d.tileHeight)
	switch {
	case d.tileWidth > 0 && d.tileHeight > 0:
		area = min(tile, max(TIFFTilePixels, 4*area)) // more is refused
	case d.stripRows > 0:
		area = int64(i.Width) * min(int64(d.stripRows), int64(i.Height))
	}

	n := int64(0)
	if tile > 0 {
		n += area * stored
	}
	if d.photometric == ycbcr && (d.compression != jpeg || d.planar == 2) || d.compression == 6 {
		n += area * (4 + max(stored, 3))
	}
	switch d.compression {
	case 1, 2, 3, 4, 5, jpeg, 8, 32773, 32946: // row by row
	default:
		n += area * max(stored, 4)
	}
	return n
}
