package packed_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/internal/packed"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

// pack compresses with each codec that there is a writer for. bzip2 is tested on files of
// Python's: see packages mds and zipfile.
func pack(t testing.TB, c packed.Codec, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	var err error
	switch c {
	case packed.None:
		return bytes.Clone(data)
	case packed.Snappy:
		return snappy.Encode(nil, data)
	case packed.Gzip:
		w = gzip.NewWriter(&b)
	case packed.Zlib:
		w = zlib.NewWriter(&b)
	case packed.Deflate:
		w, err = flate.NewWriter(&b, 6)
	case packed.Zstd:
		w, err = zstd.NewWriter(&b)
	case packed.Brotli:
		w = brotli.NewWriter(&b)
	}
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var codecs = map[string]packed.Codec{
	"none": packed.None, "gzip": packed.Gzip, "zlib": packed.Zlib, "deflate": packed.Deflate, "zstd": packed.Zstd, "brotli": packed.Brotli, "snappy": packed.Snappy,
}

func contents() [][]byte {
	noise := make([]byte, 3000)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	return [][]byte{{}, []byte("a"), noise, []byte(strings.Repeat("all the same ", 20_000)), make([]byte, 1<<20)}
}

func TestAppend(t *testing.T) {
	for name, c := range codecs {
		for _, data := range contents() {
			block := pack(t, c, data)
			got, err := packed.Append([]byte("before"), c, block, int64(len(data)))
			if err != nil || string(got) != "before"+string(data) {
				t.Fatalf("%s of %d bytes: %d, %v", name, len(data), len(got), err)
			}
			for _, lie := range []int64{int64(len(data)) - 1, int64(len(data)) + 1, 0, -1, 1 << 40, 1<<63 - 1} {
				if lie == int64(len(data)) {
					continue
				}
				got, err := packed.Append([]byte("before"), c, block, lie)
				if err == nil || len(got) < 6 || string(got[:6]) != "before" {
					t.Errorf("%s of %d bytes as %d: %d, %v", name, len(data), lie, len(got), err)
				}
			}
			for n := 0; n < len(block); n += 1 + len(block)/50 {
				if _, err := packed.Append(nil, c, block[:n], int64(len(data))); err == nil && len(data) > 0 {
					t.Errorf("%s: %d of %d bytes were enough", name, n, len(block))
				}
			}
		}
	}
	if _, err := packed.Append(nil, 99, nil, 1); !errors.Is(err, shard.ErrUnsupported) {
		t.Errorf("an unknown codec: %v", err)
	}
}

// A length that lies takes no memory.
func TestMemory(t *testing.T) {
	for name, c := range codecs {
		block := pack(t, c, []byte("little"))
		if c == packed.Snappy {
			block = append(binary.AppendUvarint(nil, 1<<31), block[1:]...)
		}
		if c == packed.Zstd {
			// A frame that says it has 2³¹ bytes, and window descriptor none.
			block = append([]byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0}, binary.LittleEndian.AppendUint64(nil, 1<<31)...)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := packed.Append(nil, c, block, 1<<31)
		runtime.ReadMemStats(&after)
		if taken := after.TotalAlloc - before.TotalAlloc; err == nil || taken > 16<<20 {
			t.Errorf("%s: %d bytes were taken for %d: %v", name, taken, len(block), err)
		}
	}
}

func TestNewReader(t *testing.T) {
	for name, c := range codecs {
		if c == packed.Snappy {
			continue
		}
		data := []byte(strings.Repeat("some text ", 1000))
		r, err := packed.NewReader(c, bytes.NewReader(pack(t, c, data)))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		r.Close()
	}
	for _, c := range []packed.Codec{packed.Gzip, packed.Zlib} {
		if _, err := packed.NewReader(c, strings.NewReader("")); !errors.Is(err, shard.ErrTruncated) {
			t.Errorf("of nothing: %v", err)
		}
		if _, err := packed.NewReader(c, strings.NewReader("none of these")); !errors.Is(err, shard.ErrCorrupt) {
			t.Errorf("of something else: %v", err)
		}
	}
}

func FuzzAppend(f *testing.F) {
	for _, c := range codecs {
		f.Add(uint8(c), pack(f, c, []byte(strings.Repeat("some text ", 10))), int64(100))
	}
	f.Fuzz(func(t *testing.T, c uint8, block []byte, size int64) {
		got, err := packed.Append(nil, packed.Codec(c), block, size%(1<<24))
		if err == nil && int64(len(got)) != size%(1<<24) {
			t.Errorf("%d bytes, want %d", len(got), size%(1<<24))
		}
	})
}
