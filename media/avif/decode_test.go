//go:build cgo

package avif

import (
	"encoding/binary"
	"errors"
	"fmt"
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

// libraries are all that can be found: the system's, and the one that Pillow brings,
// which is always there for tests.
func libraries(t *testing.T) map[string]with {
	found := map[string]with{}
	for _, name := range names {
		if _, err := open(name); err == nil {
			found[name] = with{name: name}
		}
	}
	python := os.Getenv("HEADRACE_PYTHON")
	if python == "" {
		python = "../../.venv/bin/python"
	}
	bundled, _ := filepath.Glob(filepath.Dir(filepath.Dir(python)) + "/lib/python*/site-packages/pillow.libs/libavif*")
	if len(bundled) == 0 {
		t.Fatal("no libavif in Pillow's folder")
	}
	found["Pillow's"] = with{name: bundled[0]}
	return found
}

// Pillow's own library gives Pillow's pixels; others may round otherwise by a level or
// two.
func TestDecoder(t *testing.T) {
	for name, d := range libraries(t) {
		levels := 2
		if name == "Pillow's" {
			levels = 0
		}
		t.Run(name, func(t *testing.T) { pixeltest.AVIF(t, d, levels) })
	}
}

// The files hold formulas without loss, written by avifenc: 10 and 12 bits fill 16, or
// are rounded to 8.
func TestDeepPictures(t *testing.T) {
	const width, height = 24, 18
	for name, d := range libraries(t) {
		for _, bits := range []int{10, 12} {
			data, err := os.ReadFile(fmt.Sprintf("testdata/%dbit.avif", bits))
			if err != nil {
				t.Fatal(err)
			}
			if info, err := media.Probe(data); err != nil || info.Bits != bits || info.Width != width || info.Height != height {
				t.Fatalf("%+v, %v", info, err)
			}
			full := 1<<bits - 1
			wide := pixeltest.Packed(pixeltest.Decode(t, d, data, media.RGB, tensor.Uint16))
			narrow := pixeltest.Packed(pixeltest.Decode(t, d, data, media.RGB, tensor.Uint8))
			alpha := pixeltest.Packed(pixeltest.Decode(t, d, data, media.RGBA, tensor.Uint16))
			pillow := oracle.ReadImage(t, data, "RGB", false)
			for i := range narrow {
				x, y := i/3%width, i/3/width
				v := [...]int{x*41 + y*3, y*55 + x, x*y*7 + 5}[i%3] & full
				got := int(binary.NativeEndian.Uint16(wide[2*i:]))
				if want := (v*65535 + full/2) / full; got < want-1 || got > want+1 {
					t.Fatalf("%s, %d bits: value %d is %d, want %d", name, bits, i, got, want)
				}
				if w := int(binary.NativeEndian.Uint16(alpha[2*(i/3*4+i%3):])); w != got {
					t.Fatalf("%s, %d bits: value %d is %d with alpha, %d without", name, bits, i, w, got)
				}
				if diff := int(narrow[i]) - int(pillow.Pix[i]); diff < -1 || diff > 1 {
					t.Fatalf("%s, %d bits: value %d is %d, Pillow says %d", name, bits, i, narrow[i], pillow.Pix[i])
				}
			}
			if a := binary.NativeEndian.Uint16(alpha[6:]); a != 65535 {
				t.Errorf("%s: opaque is %d", name, a)
			}
		}
	}
}

func TestMissingLibrary(t *testing.T) {
	_, err := open("libavif.so.0.no", "/nowhere/libavif.so")
	if !errors.Is(err, media.ErrUnsupported) {
		t.Fatal(err)
	}
	for _, says := range []string{"libavif.so.0.no", "/nowhere/libavif.so", "apt-get install -y libavif16", "libavif15 on Debian 12", "HEADRACE_AVIF"} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%q is not said in: %v", says, err)
		}
	}
}

func TestAnotherLibrary(t *testing.T) {
	if _, err := open("libc.so.6"); err == nil || !strings.Contains(err.Error(), "libc.so.6 has no avifVersion") {
		t.Errorf("%v", err)
	}
}

// The library that the environment names is the one that decodes.
func TestNamedLibrary(t *testing.T) {
	bundled := libraries(t)["Pillow's"].name
	t.Setenv(pathVariable, bundled)
	if v, err := Version(); err != nil || !strings.HasPrefix(v, "1.") {
		t.Errorf("%s, %v", v, err)
	}
	data := oracle.WriteImage(t, pixeltest.Smooth("RGB", 61, 45, 1), "AVIF", nil)
	pixeltest.EqualsPillow(t, "through the environment", Decoder{}, data, 0)
}

func TestImportingRegisters(t *testing.T) {
	if d, err := media.DecoderFor(media.AVIF); err != nil || d.Name() != "libavif" {
		t.Errorf("%v, %v", d, err)
	}
}

func TestCodecs(t *testing.T) {
	codecs, err := Codecs()
	// Each as in "dav1d [dec]:1.0.0"; one of them decodes, or no other test of this
	// package would pass.
	if err != nil || !strings.Contains(codecs, "dec]:") {
		t.Errorf("%q, %v", codecs, err)
	}
}
