package arrayrecord_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"testing"

	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/arrayrecord"
	"github.com/headrace/headrace/shard/shardtest"
)

// plain reads a file of testdata, which is compressed: ArrayRecords are blocks of 64 KiB,
// most of which is zeros.
func plain(t testing.TB, name string) []byte {
	t.Helper()
	f, err := os.Open("testdata/" + name + ".gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() // it was opened for reading
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The files of testdata are those of array_record's writer, and what its reader and
// Google's protobuf find in them: scripts/shard_goldens.py.
func golden(t testing.TB, name string) shardtest.Case {
	name += ".array_record"
	c := shardtest.Case{Format: arrayrecord.Format{}, File: name, Folder: shardtest.Folder{name: plain(t, name)}}
	if err := json.Unmarshal(plain(t, name+".json"), &c.Want); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestFilesOfOthers(t *testing.T) {
	for _, name := range []string{"none", "single", "zstd", "brotli", "snappy", "empty"} {
		c := golden(t, name)
		c.Room = 64 << 20
		if name == "zstd" { // the files are large
			t.Run(name, c.Run)
		} else {
			t.Run(name, c.Read)
		}
		data := c.Folder[c.File]
		if f := (arrayrecord.Format{}); !f.Begins(data[:512]) || f.Begins(data[1:]) || f.Begins(data[:32]) {
			t.Errorf("%s: Begins is wrong", name)
		}
	}
}

func TestWhatIsRefused(t *testing.T) {
	c := golden(t, "transposed")
	c.Refused(t, c.File, c.Folder[c.File], shard.ErrUnsupported, "a transposed chunk: write the file with the option transpose:false")

	c = golden(t, "zstd")
	good := c.Folder[c.File]
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
		{nil, shard.ErrTruncated, "zstd.array_record at byte 0: cut off: the file does not end as an ArrayRecord does"},
		{good[:len(good)-1], shard.ErrTruncated, "does not end as an ArrayRecord does"},
		{good[:64<<10], shard.ErrTruncated, "does not end as an ArrayRecord does"},
		{good[:len(good)-64<<10], shard.ErrTruncated, "zstd.array_record"},
		{change(30), shard.ErrCorrupt, "at byte 0: damaged: the checksum of a chunk's header is wrong"},
		{change(70), shard.ErrCorrupt, "at byte 64: damaged: the checksum of a chunk's header is wrong"},
		{change(len(good) - 64<<10 + 30), shard.ErrCorrupt, "the checksum of a chunk's header is wrong"},
		{change(len(good) - 64<<10 + 70), shard.ErrCorrupt, "the checksum of a chunk's data is wrong"},
		{change(64 + 100), shard.ErrCorrupt, "sample 0: damaged: the checksum of a chunk's data is wrong"},
	} {
		c.Refused(t, c.File, r.data, r.kind, r.says)
	}
}

func FuzzScan(f *testing.F) { golden(f, "zstd").Fuzz(f) }
