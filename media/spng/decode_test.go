//go:build cgo

package spng

import (
	"bytes"
	"compress/zlib"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/hostile"
	"github.com/headrace/headrace/media/internal/pixeltest"
	"github.com/headrace/headrace/tensor"
)

func TestDecoder(t *testing.T) { pixeltest.PNG(t, Decoder{}) }

// A few kilobytes of text that would come to much more than the image are not
// uncompressed.
func TestTextBomb(t *testing.T) {
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	w.Write(make([]byte, 60<<20))
	w.Close()
	good := oracle.WriteImage(t, pixeltest.Noise("RGB", 8, 8, 1), "PNG", nil)
	want, err := pixeltest.Try(t, Decoder{}, good, media.RGB, tensor.Uint8)
	if err != nil {
		t.Fatal(err)
	}
	for kind, head := range map[string]string{"zTXt": "Title\x00\x00", "iCCP": "name\x00\x00", "iTXt": "Title\x00\x01\x00\x00\x00"} {
		chunk := pixeltest.Chunk(kind, append([]byte(head), z.Bytes()...))
		data := slices.Concat(good[:33], chunk, good[33:])
		var got media.Pixels
		took := hostile.MemoryOf(t, func() { got, err = pixeltest.Try(t, Decoder{}, data, media.RGB, tensor.Uint8) })
		if err != nil || !bytes.Equal(got.Data, want.Data) {
			t.Errorf("%s: %v", kind, err)
		}
		if took > 30<<20 {
			t.Errorf("%s: %d MiB", kind, took>>20)
		}
	}
}

// Damage that leaves the data decodable is found too.
func TestEveryBitCounts(t *testing.T) {
	good := oracle.WriteImage(t, pixeltest.Noise("RGB", 40, 30, 1), "PNG", options{"compress_level": 0})
	for at := bytes.Index(good, []byte("IDAT")); at < len(good)-12; at += 7 {
		bad := bytes.Clone(good)
		bad[at] ^= 0x10
		if _, err := pixeltest.Try(t, Decoder{}, bad, media.RGB, tensor.Uint8); err == nil {
			t.Fatalf("byte %d of %d: no error", at, len(good))
		}
	}
}

type options = pixeltest.Options

func TestImportingRegisters(t *testing.T) {
	if d, err := media.DecoderFor(media.PNG); err != nil || !strings.HasPrefix(d.Name(), "libspng-") {
		t.Errorf("%v, %v", d, err)
	}
}
