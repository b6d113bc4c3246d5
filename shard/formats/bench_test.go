package formats_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/headrace/headrace/internal/npy"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/tensor"
)

// photo and photos are the samples of BenchmarkRead: how many, and how long each is, as
// those of ImageNet are on average.
const (
	photo  = 112 << 10
	photos = 400
)

// BenchmarkRead reads samples at random from files that are in the page cache: time a
// sample, and bytes that are read for each that is used. The first case are loose files.
func BenchmarkRead(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	content := make([]byte, photo)
	for i := range content {
		content[i] = byte(rng.Uint32())
	}
	dir := b.TempDir()
	b.Setenv(index.Variable, b.TempDir())
	for i := range photos {
		write(b, filepath.Join(dir, fmt.Sprintf("%d.jpg", i)), content)
	}
	b.Run("files", func(b *testing.B) {
		buf := make([]byte, photo)
		for b.Loop() {
			f, err := os.Open(filepath.Join(dir, fmt.Sprintf("%d.jpg", rng.IntN(photos))))
			if err != nil {
				b.Fatal(err)
			}
			if _, err := f.Stat(); err != nil {
				b.Fatal(err)
			}
			if _, err := f.ReadAt(buf, 0); err != nil {
				b.Fatal(err)
			}
			f.Close()
		}
	})

	for _, c := range []struct {
		name, field string
		data        []byte
	}{
		{"train.tfrecord", "image", records(content)},
		{"train.zip", "jpg", members(b, content)},
		{"train.npy", "array", append(npy.Write(tensor.Uint8, tensor.Shape{photos, photo}), bytes.Repeat(content, photos)...)},
		{"index.json", "jpg", samples(b, dir, content)},
	} {
		write(b, filepath.Join(dir, c.name), c.data)
		b.Run(c.name, func(b *testing.B) { readRandom(b, filepath.Join(dir, c.name), c.field, rng) })
	}
}

func write(b *testing.B, name string, data []byte) {
	b.Helper()
	if err := os.WriteFile(name, data, 0o644); err != nil {
		b.Fatal(err)
	}
}

func readRandom(b *testing.B, path, field string, rng *rand.Rand) {
	d, err := shard.Open(b.Context(), []string{path}, shard.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	r, err := d.Select(b.Context(), shard.Column{From: field})
	if err != nil {
		b.Fatal(err)
	}
	var p shard.Place
	var read int64
	buf := make([]byte, 2*photo)
	b.ReportAllocs()
	for b.Loop() {
		if err := r.Locate(rng.Int64N(d.Len()), &p); err != nil {
			b.Fatal(err)
		}
		values, n, err := r.Read(b.Context(), &p, buf[:p.Bytes])
		if err != nil || len(values[0].Bytes) != photo {
			b.Fatalf("%d bytes, %v", len(values[0].Bytes), err)
		}
		read += n
	}
	b.ReportMetric(float64(read)/float64(b.N)/photo, "read/used")
}

// records is a TFRecord file of messages with one feature.
func records(content []byte) (all []byte) {
	field := func(number byte, data []byte) []byte {
		return append(binary.AppendUvarint([]byte{number<<3 | 2}, uint64(len(data))), data...)
	}
	entry := append(field(1, []byte("image")), field(2, field(1, field(1, content)))...)
	record := field(1, field(1, entry))
	sum := func(data []byte) uint32 {
		c := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
		return (c>>15 | c<<17) + 0xa282ead8
	}
	for range photos {
		length := binary.LittleEndian.AppendUint64(nil, uint64(len(record)))
		all = binary.LittleEndian.AppendUint32(append(all, length...), sum(length))
		all = binary.LittleEndian.AppendUint32(append(all, record...), sum(record))
	}
	return all
}

func members(b *testing.B, content []byte) []byte {
	b.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for i := range photos {
		m, err := w.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("%d.jpg", i)})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := m.Write(content); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	return out.Bytes()
}

// samples writes a shard of MDS, and returns the file that names it.
func samples(b *testing.B, dir string, content []byte) []byte {
	b.Helper()
	const first = 4 * (photos + 2)
	data := binary.LittleEndian.AppendUint32(nil, photos)
	for i := range photos + 1 {
		data = binary.LittleEndian.AppendUint32(data, uint32(first+i*(4+photo)))
	}
	for range photos {
		data = append(binary.LittleEndian.AppendUint32(data, photo), content...)
	}
	write(b, filepath.Join(dir, "shard.mds"), data)
	return fmt.Appendf(nil, `{"version": 2, "shards": [{"format": "mds", "version": 2, "samples": %d, "raw_data": {"basename": "shard.mds", "bytes": %d},
		"column_names": ["jpg"], "column_encodings": ["jpeg"], "column_sizes": [null]}]}`, photos, len(data))
}
