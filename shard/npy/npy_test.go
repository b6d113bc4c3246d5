package npy_test

import (
	"bytes"
	"testing"

	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/npy"
	"github.com/headrace/headrace/shard/shardtest"
)

// The files of testdata are numpy.save's, and their rows what numpy.load has:
// scripts/shard_goldens.py.
func golden(t testing.TB, name string) shardtest.Case {
	return shardtest.Case{
		Format: npy.Format{}, File: name, Folder: shardtest.Folder{name: shardtest.Load(t, "testdata")[name]},
		Want: shardtest.Golden(t, "testdata/"+name+".json"),
	}
}

func TestFilesOfNumPy(t *testing.T) {
	for _, name := range []string{"images.npy", "vector.npy", "halves.npy", "truth.npy", "none.npy"} {
		c := golden(t, name)
		t.Run(name, c.Run)
		if f := (npy.Format{}); !f.Begins(c.Folder[name]) || f.Begins(c.Folder[name][1:]) || f.Begins(nil) {
			t.Errorf("%s: Begins is wrong", name)
		}
	}
}

func TestWhatIsRefused(t *testing.T) {
	c := golden(t, "vector.npy")
	good := c.Folder["vector.npy"]
	change := func(old, other string) []byte { return bytes.Replace(good, []byte(old), []byte(other), 1) }
	for _, r := range []struct {
		data []byte
		kind error
		says string
	}{
		{good[:len(good)-1], shard.ErrTruncated, "vector.npy at byte 199: cut off: an array [9] of <f8 has 72 bytes, and 71 follow the header"},
		{append(bytes.Clone(good), 0), shard.ErrCorrupt, "at byte 200: damaged: 1 bytes follow the array"},
		{change("(9,), ", "(),   "), shard.ErrCorrupt, "64 bytes follow"},
		{change("(9,), }                  ", "(9223372036854775807,), }"), shard.ErrUnsupported, "more than 2⁶³"},
		{change("(9,), }                  ", "(9223372036854775807,0),}"), shard.ErrCorrupt, "72 bytes follow"},
		{change("<f8", "|O8"), shard.ErrUnsupported, "must be numbers and truth values"},
		{change("<f8", ">f8"), shard.ErrUnsupported, "the highest byte first"},
		{good[:20], shard.ErrTruncated, "the file ends in its header"},
		{nil, shard.ErrUnsupported, "not a NumPy file"},
		{change("(9,), ", "(),   ")[:136], shard.ErrUnsupported, "an array without axes has no rows"},
		{change("(9,), }        ", "(9999999999,0)}")[:128], shard.ErrUnsupported, "the rows of the array have no elements"},
	} {
		c.Refused(t, "vector.npy", r.data, r.kind, r.says)
	}
}

func FuzzScan(f *testing.F) { golden(f, "images.npy").Fuzz(f) }
