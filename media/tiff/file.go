//go:build cgo

package tiff

// #cgo noescape hr_tiff_open
// #cgo nocallback hr_tiff_open
// #cgo noescape hr_tiff_rows
// #cgo nocallback hr_tiff_rows
// #cgo noescape hr_tiff_tile
// #cgo nocallback hr_tiff_tile
// #cgo noescape hr_tiff_rgba
// #cgo nocallback hr_tiff_rgba
// #cgo noescape hr_tiff_colors
// #cgo nocallback hr_tiff_colors
// #include "libtiff.h"
import "C"

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"github.com/headrace/headrace/media"
)

// file is an image that is open in libtiff. Planes that are apart are read side by side,
// each through a handle of its own: a handle that went from one to the other would
// decode each strip from its beginning.
type file struct {
	head    C.hr_tiff_head
	handles []*C.hr_tiff
	pins    runtime.Pinner
	message [C.HR_TIFF_MESSAGE]byte
}

// openFile opens an image of width×height pixels.
func openFile(lib *C.hr_tiff_library, src []byte, width, height int) (*file, error) {
	f := new(file)
	f.pins.Pin(unsafe.SliceData(src))
	if err := f.openHandle(lib, src, width, height); err != nil {
		f.close()
		return nil, err
	}
	h := &f.head
	switch area := int64(h.tile_width) * int64(h.tile_height); {
	case int(h.width) != width || int(h.height) != height:
		f.close()
		return nil, fmt.Errorf("%w: tiff of %d×%d pixels, its header says %d×%d", media.ErrCorrupt, h.width, h.height, width, height)
	case area > max(media.TIFFTilePixels, 4*int64(width)*int64(height)):
		f.close()
		return nil, fmt.Errorf("%w: tiff of %d×%d pixels with tiles of %d×%d", media.ErrCorrupt, width, height, h.tile_width, h.tile_height)
	// Strips may share bytes, as blank ones do. All together have no reason to be
	// longer than the file and the pixels.
	case uint64(h.coded_bytes) > uint64(len(src))+uint64(width)*uint64(height)*uint64(h.samples)*uint64(h.bits/8+1):
		f.close()
		return nil, fmt.Errorf("%w: tiff with strips or tiles that overlap", media.ErrCorrupt)
	}
	return f, nil
}

func (f *file) openHandle(lib *C.hr_tiff_library, src []byte, width, height int) error {
	// Only what is in proportion to the file and its pixels is allocated.
	limit := 16<<20 + int64(len(src)) + 8*int64(width)*int64(height)
	t := C.hr_tiff_open(lib, (*C.uint8_t)(unsafe.SliceData(src)), C.size_t(len(src)), C.int64_t(limit), &f.head, f.text())
	if t == nil {
		return f.failure()
	}
	f.handles = append(f.handles, t)
	return nil
}

func (f *file) close() {
	for _, t := range f.handles {
		C.hr_tiff_close(t)
	}
	f.pins.Unpin()
}

// rows reads rows of a strip.
func (f *file) rows(dst []byte, stride, row, count, plane int) error {
	result := C.hr_tiff_rows(f.handles[plane], (*C.uint8_t)(unsafe.SliceData(dst)), C.ptrdiff_t(stride),
		C.uint32_t(row), C.uint32_t(count), C.uint16_t(plane), f.text())
	if result != 0 {
		return fmt.Errorf("%w (at row %d of %d)", f.failure(), row, f.head.height)
	}
	return nil
}

// tile reads the tile at a pixel.
func (f *file) tile(dst []byte, x, y, plane int) error {
	result := C.hr_tiff_tile(f.handles[plane], (*C.uint8_t)(unsafe.SliceData(dst)),
		C.uint32_t(x), C.uint32_t(y), C.uint16_t(plane), f.text())
	if result != 0 {
		return fmt.Errorf("%w (tile at %d,%d)", f.failure(), x, y)
	}
	return nil
}

// rgba reads the strip or tile at a pixel, its last row first.
func (f *file) rgba(dst []byte, x, y int) error {
	if C.hr_tiff_rgba(f.handles[0], (*C.uint8_t)(unsafe.SliceData(dst)), C.uint32_t(x), C.uint32_t(y), f.text()) != 0 {
		return fmt.Errorf("%w (at %d,%d)", f.failure(), x, y)
	}
	return nil
}

// colors reads a palette: red, green and blue of each.
func (f *file) colors(count int) ([]byte, error) {
	rgb := make([]byte, 3*count)
	if C.hr_tiff_colors(f.handles[0], C.int(count), (*C.uint8_t)(unsafe.SliceData(rgb))) != 0 {
		return nil, fmt.Errorf("%w: tiff without the colors of its palette", media.ErrCorrupt)
	}
	return rgb, nil
}

func (f *file) text() *C.char { return (*C.char)(unsafe.Pointer(&f.message[0])) }

// failure is what libtiff has said, sorted by its words, for it has no numbers.
func (f *file) failure() error {
	raw, _, _ := bytes.Cut(f.message[:], []byte{0})
	text := strings.ToValidUTF8(string(raw), "?")
	for _, kind := range [...]struct {
		err   error
		words []string
	}{
		{media.ErrTruncated, []string{"Read error", "read error", "Not enough data", "got ", "Premature", "ends"}},
		{media.ErrUnsupported, []string{"not configured", "not supported", "not implemented", "nsupported", "Sorry"}},
	} {
		for _, w := range kind.words {
			if strings.Contains(text, w) {
				return fmt.Errorf("%w: libtiff: %s", kind.err, text)
			}
		}
	}
	if text == "" {
		text = "it says no reason"
	}
	return fmt.Errorf("%w: libtiff: %s", media.ErrCorrupt, text)
}
