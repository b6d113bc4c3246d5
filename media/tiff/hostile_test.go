//go:build cgo

package tiff

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/hostile"
	"github.com/headrace/headrace/media/internal/pixeltest"
	"github.com/headrace/headrace/tensor"
)

func TestHostile(t *testing.T) { hostile.Run(t, media.Whole(Decoder{}), media.TIFF) }

// Fuzzing begins with every kind of file, beside the seeds of all formats.
func FuzzDecode(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.tif")
	for i, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, uint8(i))
	}
	hostile.Fuzz(f, media.Whole(Decoder{}), media.TIFF)
}

// What a file says of itself is compared with the file and its pixels before anything is
// allocated, and the error names it.
func TestLies(t *testing.T) {
	for name, c := range map[string]struct {
		file       string
		tag, value uint32
		kind       error
		says       string
	}{
		"no tiles":            {"tiffcp-tiles", 322, 0, media.ErrCorrupt, "libtiff: "},
		"a tile that is long": {"tiffcp-tiles", 323, 65520, media.ErrTruncated, "(tile at 0,0)"},
		"strips that overlap": {"tiffcp-planar-strips", 279, 3000, media.ErrCorrupt, "overlap"},
		"a strip outside":     {"hand-cmyk-16", 273, 1 << 30, media.ErrTruncated, "Read error"},
		"no compression's":    {"hand-cmyk-16", 259, 4711, media.ErrUnsupported, "4711"},
		"another compression": {"hand-cmyk-16", 259, 5, media.ErrCorrupt, "code not yet in table (at row 0 of 29)"},
		"CIE Lab":             {"hand-cmyk-16", 262, 8, media.ErrUnsupported, "CIE Lab pixels of 16 bits"},
		"camera":              {"tiffcp-tiles", 262, 32803, media.ErrUnsupported, "raw camera pixels"},
		"CMYK of three":       {"tiffcp-tiles", 262, 5, media.ErrUnsupported, "3 samples, photometric interpretation 5"},
		"no palette":          {"tiffcp-4-bits", 262, 3, media.ErrCorrupt, "Colormap"},
		"64 bits":             {"pillow-float", 258, 64, media.ErrUnsupported, "samples of 64 bits"},
		"floats of 16 bits":   {"hand-16-bits-signed", 339, 3, media.ErrUnsupported, "floating-point samples of 16 bits"},
		"complex numbers":     {"hand-16-bits-signed", 339, 6, media.ErrUnsupported, "unknown kind (6)"},
	} {
		data, err := os.ReadFile("testdata/" + c.file + ".tif")
		if err != nil {
			t.Fatal(err)
		}
		set(t, data, c.tag, c.value)
		if _, err := pixeltest.Try(t, Decoder{}, data, media.RGB, tensor.Uint8); !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %v: %s", name, err, c.kind, c.says)
		}
	}

	read := func(name string) []byte {
		data, err := os.ReadFile("testdata/" + name + ".tif")
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	data := read("tiffcp-tiles")
	set(t, data, 322, 65520)
	set(t, data, 323, 65520)
	if _, err := pixeltest.Try(t, Decoder{}, data, media.RGB, tensor.Uint8); !errors.Is(err, media.ErrCorrupt) || !strings.Contains(err.Error(), "tiles of 65520×65520") {
		t.Error(err)
	}

	data = read("hand-16-bits-white-is-zero")
	set(t, data, 262, 3)
	last := data[binary.LittleEndian.Uint32(data[4:])+2+12*9:] // its entry becomes that of a palette
	binary.LittleEndian.PutUint16(last, 320)
	binary.LittleEndian.PutUint32(last[4:], 3<<16)
	binary.LittleEndian.PutUint32(last[8:], uint32(len(data)))
	data = append(data, make([]byte, 2*3<<16)...)
	if _, err := pixeltest.Try(t, Decoder{}, data, media.RGB, tensor.Uint8); !errors.Is(err, media.ErrUnsupported) || !strings.Contains(err.Error(), "a palette of 2^16 colors") {
		t.Error(err)
	}

	data = read("pillow-float")
	if _, err := pixeltest.Try(t, Decoder{}, data, media.Mask, tensor.Uint16); !errors.Is(err, media.ErrUnsupported) || !strings.Contains(err.Error(), "not a mask") {
		t.Error(err)
	}
}

// set gives all values of a tag of a little-endian file another.
func set(t *testing.T, b []byte, tag, value uint32) {
	t.Helper()
	order := binary.LittleEndian
	at := order.Uint32(b[4:])
	for e := b[at+2:][:12*order.Uint16(b[at:])]; len(e) > 0; e = e[12:] {
		if uint32(order.Uint16(e)) != tag {
			continue
		}
		size, count := 2*uint32(order.Uint16(e[2:])-2), order.Uint32(e[4:]) // SHORT is 3, LONG 4
		values := e[8:]
		if count*size > 4 {
			values = b[order.Uint32(values):]
		}
		for i := range count {
			if size == 2 {
				order.PutUint16(values[2*i:], uint16(value))
			} else {
				order.PutUint32(values[4*i:], value)
			}
		}
		return
	}
	t.Fatalf("no tag %d", tag)
}
