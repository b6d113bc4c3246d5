//go:build cgo

package tiff

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/pixeltest"
	"github.com/headrace/headrace/tensor"
)

// with decodes with one library. Tests open several.
type with struct {
	Decoder
	name string
}

func (w with) DecodePixels(dst media.Pixels, src []byte, info *media.Info) error {
	lib, err := open(w.name)
	if err != nil {
		return err
	}
	return decodeWith(lib, dst, src, info)
}

// libraries are the one that programs use, and the one that Pillow brings, which is
// always there for tests.
func libraries(t *testing.T) map[string]with {
	python := os.Getenv("HEADRACE_PYTHON")
	if python == "" {
		python = "../../.venv/bin/python"
	}
	bundled, _ := filepath.Glob(filepath.Dir(filepath.Dir(python)) + "/lib/python*/site-packages/pillow.libs/libtiff*")
	if len(bundled) == 0 {
		t.Fatal("no libtiff in Pillow's folder")
	}
	if _, err := library(); err != nil {
		t.Fatal(err)
	}
	return map[string]with{"standard": {name: standard}, "Pillow's": {name: bundled[0]}}
}

// Every file has the pixels that Pillow reads. testdata/make.py says what they are.
func TestEqualsPillow(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.tif")
	if len(files) < 60 {
		t.Fatalf("%d files", len(files))
	}
	for library, d := range libraries(t) {
		for _, path := range files {
			name := strings.TrimSuffix(filepath.Base(path), ".tif")
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			levels := 0
			// Another libjpeg may round otherwise; libtiff converts YCbCr by other tables
			// than Pillow.
			if library != "Pillow's" && strings.Contains(name, "jpeg") {
				levels = 2
			}
			t.Run(library+"/"+name, func(t *testing.T) { equalsPillow(t, name, d, data, levels) })
		}
	}
}

func equalsPillow(t *testing.T, name string, d media.PixelDecoder, data []byte, levels int) {
	stored := oracle.ReadImage(t, data, "", false)
	info, err := media.Probe(data)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case info.Bits == 16 && info.Components > 1: // Pillow keeps the upper 8 bits
		for mode, color := range map[string]media.Color{"RGB": media.RGB, "RGBA": media.RGBA, "L": media.Gray} {
			want := oracle.ReadImage(t, data, mode, false)
			if s := pixeltest.Differs(pixeltest.Decode(t, d, data, color, tensor.Uint8), want.Pix, 1, levels); s != "" {
				t.Error(color, s)
			}
		}
		return
	case !strings.HasPrefix(stored.Mode, "I;16"):
		pixeltest.EqualsPillow(t, name, d, data, levels)
		return
	}

	// Pillow's convert cuts off what is above 255. Here the upper bits are kept.
	wide := pixeltest.Packed(pixeltest.Decode(t, d, data, media.Gray, tensor.Uint16))
	narrow := pixeltest.Packed(pixeltest.Decode(t, d, data, media.Gray, tensor.Uint8))
	mask := pixeltest.Packed(pixeltest.Decode(t, d, data, media.Mask, tensor.Uint16))
	order := binary.ByteOrder(binary.LittleEndian)
	if stored.Mode == "I;16B" {
		order = binary.BigEndian
	}
	for i := range narrow {
		v := order.Uint16(stored.Pix[2*i:])
		full := v
		if info.Bits == 12 {
			full = v<<4 | v>>8
		}
		if w := binary.NativeEndian.Uint16(wide[2*i:]); w != full || narrow[i] != byte(full>>8) {
			t.Fatalf("pixel %d is %#x and %#x, want %#x", i, w, narrow[i], full)
		}
		if m := binary.NativeEndian.Uint16(mask[2*i:]); m != v {
			t.Fatalf("pixel %d of a mask is %#x, want %#x", i, m, v)
		}
	}
}

// 16 bits stay 16 in colour, too; multiplied with alpha or not.
func TestColoursOf16Bits(t *testing.T) {
	for name, want := range map[string][]uint16{
		"hand-rgba-16":            wide(4),
		"hand-planar-16":          wide(3),
		"tiffcp-zstd":             wide(3),
		"tiffcp-big-endian":       wide(3),
		"hand-rgba-16-multiplied": divided(4),
	} {
		data, err := os.ReadFile("testdata/" + name + ".tif")
		if err != nil {
			t.Fatal(err)
		}
		color := media.RGB
		if len(want) == 4*37*29 {
			color = media.RGBA
		}
		got := pixeltest.Packed(pixeltest.Decode(t, Decoder{}, data, color, tensor.Uint16))
		for i, v := range want {
			if w := binary.NativeEndian.Uint16(got[2*i:]); w != v {
				t.Fatalf("%s: sample %d is %d, want %d", name, i, w, v)
			}
		}
	}
}

// wide is what testdata/make.py calls smooth.
func wide(channels int) (v []uint16) {
	for y := range 29 {
		for x := range 37 {
			for c := range channels {
				v = append(v, uint16(257*((x*(3+c)+y*(5-c)+(x*y*31+c*7)%13)%256)))
			}
		}
	}
	return v
}

func divided(channels int) []uint16 {
	all := wide(channels)
	for v := all; len(v) > 0; v = v[4:] {
		for c := range 3 {
			if v[3] == 0 {
				v[c] = 0
				continue
			}
			v[c] = uint16(min(65535*int(v[c])/int(v[3]), 65535))
		}
	}
	return all
}

// The contract of decoders, and what Pillow writes in other sizes.
func TestDecoder(t *testing.T) {
	pixeltest.Contract(t, Decoder{}, oracle.WriteImage(t, pixeltest.Noise("L", 8, 8, 1), "TIFF", nil))
	for _, compression := range []string{"raw", "tiff_lzw", "tiff_adobe_deflate", "tiff_deflate", "packbits", "lzma"} {
		for _, mode := range []string{"1", "L", "P", "RGB", "RGBA", "CMYK"} {
			for _, strip := range []int{65536, 300} {
				o := pixeltest.Options{"compression": compression, "strip_size": strip}
				if mode == "P" {
					o["palette"] = pixeltest.Palette()
				}
				name := strings.Join([]string{mode, compression}, ", ")
				pixeltest.EqualsPillow(t, name, Decoder{}, oracle.WriteImage(t, pixeltest.Noise(mode, 61, 45, 1), "TIFF", o), 0)
			}
		}
	}
}

// What Pillow turns by itself is a matter of the plan here, as for every other format.
// That libtiff could turn YCbCr as well must not turn it twice.
func TestTurned(t *testing.T) {
	for _, mode := range []string{"RGB", "YCbCr"} {
		for _, compression := range []string{"jpeg", "tiff_lzw"} {
			of := func(orientation int) []byte {
				img := oracle.Image{Mode: mode, Width: 24, Height: 16, Pix: pixeltest.Smooth("RGB", 24, 16, 1).Pix}
				o := pixeltest.Options{"compression": compression, "tags": pixeltest.Options{"274": orientation}}
				return oracle.WriteImage(t, img, "TIFF", o)
			}
			want := pixeltest.Packed(pixeltest.Decode(t, Decoder{}, of(1), media.RGB, tensor.Uint8))
			for o := 1; o <= 8; o++ {
				data := of(o)
				if info, err := media.Probe(data); err != nil || info.Orientation != o || info.Width != 24 {
					t.Fatalf("%+v, %v", info, err)
				}
				if got := pixeltest.Packed(pixeltest.Decode(t, Decoder{}, data, media.RGB, tensor.Uint8)); !bytes.Equal(got, want) {
					t.Errorf("%s, %s, orientation %d: rows are not as they are stored", mode, compression, o)
				}
			}
		}
	}
}

func TestWithoutALibrary(t *testing.T) {
	_, err := open("/nowhere/libtiff.so.6")
	if !errors.Is(err, media.ErrUnsupported) || !strings.Contains(err.Error(), "/nowhere/libtiff.so.6: cannot open") ||
		!strings.Contains(err.Error(), "apt-get install -y libtiff6") {
		t.Error(err)
	}
	if _, err := open("libz.so.1"); err == nil || !strings.Contains(err.Error(), "libz.so.1 has no TIFFGetVersion: it is older than libtiff 4.5") {
		t.Error(err)
	}
	if v, err := Version(); err != nil || !strings.HasPrefix(v, "4.") {
		t.Error(v, err)
	}
}
