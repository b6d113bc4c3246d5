package tfrecord_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"math/bits"
	"testing"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/shard/shardtest"
	"github.com/headrace/headrace/shard/tfrecord"
	"github.com/headrace/headrace/tensor"
)

// The files of testdata are TensorFlow's, and what it reads in them:
// scripts/shard_goldens.py.
func golden(t testing.TB, name string) shardtest.Case {
	return shardtest.Case{
		Format: tfrecord.Format{}, File: name, Folder: shardtest.Folder{name: shardtest.Load(t, "testdata")[name]},
		Want: shardtest.Golden(t, "testdata/"+name+".json"),
		Room: 4 << 20, // what gzip needs
	}
}

func TestFilesOfOthers(t *testing.T) {
	for _, name := range []string{"plain.tfrecord", "gzip.tfrecord.gz", "zlib.tfrecord"} {
		c := golden(t, name)
		t.Run(name, c.Run)
		data := c.Folder[name]
		if f := (tfrecord.Format{}); !f.Begins(data[:min(len(data), 512)]) || f.Begins(data[1:]) || f.Begins(data[:8]) || f.Begins(nil) {
			t.Errorf("%s: Begins is wrong", name)
		}
	}
}

// checksum is CRC-32C bit by bit, masked, from its definition.
func checksum(data []byte) uint32 {
	c := ^uint32(0)
	for _, b := range data {
		c ^= uint32(b)
		for range 8 {
			c = c>>1 ^ 0x82f63b78*(c&1)
		}
	}
	return bits.RotateLeft32(^c, -15) + 0xa282ead8
}

// file frames records.
func file(records ...string) (all []byte) {
	for _, r := range records {
		length := binary.LittleEndian.AppendUint64(nil, uint64(len(r)))
		all = append(all, length...)
		all = binary.LittleEndian.AppendUint32(all, checksum(length))
		all = append(all, r...)
		all = binary.LittleEndian.AppendUint32(all, checksum([]byte(r)))
	}
	return all
}

func headerOf(n uint64) []byte {
	length := binary.LittleEndian.AppendUint64(nil, n)
	return binary.LittleEndian.AppendUint32(length, checksum(length))
}

func TestWhatIsRefused(t *testing.T) {
	good := file("one", "two")
	c := shardtest.Case{Format: tfrecord.Format{}, File: "a.tfrecord", Folder: shardtest.Folder{"a.tfrecord": good}}
	change := func(at int) []byte {
		other := bytes.Clone(good)
		other[at] ^= 1
		return other
	}
	for _, r := range []struct {
		data []byte
		kind error
		says string
	}{
		{change(0), shard.ErrCorrupt, "a.tfrecord at byte 0: damaged: the checksum of a record's length is wrong"},
		{change(19 + 8), shard.ErrCorrupt, "a.tfrecord at byte 19"},
		{change(12), shard.ErrCorrupt, "sample 0: damaged: the checksum of the record's data is wrong"},
		{change(19 + 15), shard.ErrCorrupt, "sample 1"},
		{good[:len(good)-1], shard.ErrTruncated, "at byte 19: cut off: a record has 3 bytes, and the file ends after 6"},
		{good[:25], shard.ErrTruncated, "at byte 19"},
		{append(headerOf(1<<62), 1, 2, 3), shard.ErrTruncated, "a record has 4611686018427387904 bytes"},
		{headerOf(1<<64 - 1), shard.ErrCorrupt, "2⁶³ bytes or more"},
	} {
		c.Refused(t, "a.tfrecord", r.data, r.kind, r.says)
	}

	// The same in a file that is compressed.
	zipped := func(data []byte) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.Write(data) // into memory: no error
		z.Close()
		return b.Bytes()
	}
	c.Room = 4 << 20
	c.Refused(t, "a.tfrecord", zipped(good[:len(good)-1]), shard.ErrTruncated, "the file ends in the middle of a record")
	c.Refused(t, "a.tfrecord", zipped(change(0)), shard.ErrCorrupt, "checksum")
	c.Refused(t, "a.tfrecord", zipped(headerOf(1<<62)), shard.ErrTruncated, "in the middle of a record")
	c.Refused(t, "a.tfrecord", zipped(good)[:20], shard.ErrTruncated, "a.tfrecord")
}

func TestShardsOfFewSamples(t *testing.T) {
	one := map[string]shardtest.Value{"record": shardtest.Bytes("one")}
	for name, c := range map[string]shardtest.Case{
		"none": {Folder: shardtest.Folder{"x": nil}},
		"one":  {Folder: shardtest.Folder{"x": file("one")}, Want: []shardtest.Sample{{Fields: one}}},
	} {
		c.Format, c.File = tfrecord.Format{}, "x"
		t.Run(name, c.Run)
	}
}

func TestParseChecksTheData(t *testing.T) {
	want := []sample.Field{{Name: "x", Type: sample.TensorType(tensor.Int64)}}
	for _, record := range [][]byte{nil, {1, 2, 3}, {1, 2, 3, 4, 5}} {
		if _, err := (tfrecord.Format{}).Parse(record, want, make([]shard.Value, 1), nil); err == nil {
			t.Errorf("%v was parsed", record)
		}
		if _, err := (tfrecord.Format{}).Schema(record); err == nil {
			t.Errorf("%v has a schema", record)
		}
	}
}

func FuzzScan(f *testing.F) { golden(f, "plain.tfrecord").Fuzz(f) }

// What is between lengths is not read, however long it is.
func TestLongRecords(t *testing.T) {
	const long = 5 << 30
	second := file("two")
	s := &shardtest.Sparse{Length: 16 + long + int64(len(second)), Pieces: map[int64][]byte{0: headerOf(long), 16 + long: second}}
	var found index.Builder
	if err := (tfrecord.Format{}).Scan(t.Context(), s, &found); err != nil || found.Len() != 2 {
		t.Fatalf("%d samples, %v", found.Len(), err)
	}
	for i, want := range []index.Part{{At: 12, Len: long + 4}, {At: 16 + long + 12, Len: 7}} {
		if _, parts := found.Of(i); len(parts) != 1 || parts[0] != want {
			t.Errorf("sample %d is %+v, want %+v", i, parts, want)
		}
	}
	if s.Read > 4096 {
		t.Errorf("%d bytes were read", s.Read)
	}
}

func BenchmarkScan(b *testing.B) {
	var records []string
	for range 10_000 {
		records = append(records, string(make([]byte, 1000)))
	}
	f, err := shardtest.Folder{"x": file(records...)}.Open("x")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		var found index.Builder
		if err := (tfrecord.Format{}).Scan(b.Context(), f, &found); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e4, "ns/sample")
}
