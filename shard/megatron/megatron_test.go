package megatron_test

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"testing"

	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/megatron"
	"github.com/headrace/headrace/shard/shardtest"
)

// The files of testdata are made from the description of Megatron's IndexedDataset:
// scripts/shard_goldens.py.
func golden(t testing.TB, name string) shardtest.Case {
	all := shardtest.Load(t, "testdata")
	return shardtest.Case{
		Format: megatron.Format{}, File: name + ".bin", Folder: shardtest.Folder{name + ".bin": all[name+".bin"], name + ".idx": all[name+".idx"]},
		Want: shardtest.Golden(t, "testdata/"+name+".bin.json"),
	}
}

func TestPairs(t *testing.T) {
	for _, name := range []string{"text", "sequences"} {
		t.Run(name, golden(t, name).Run)
	}
}

func TestWhatIsRefused(t *testing.T) {
	c := golden(t, "text")
	idx := c.Folder["text.idx"]
	const lengths, places, limits = 34, 34 + 4*5, 34 + 12*5
	change := func(at int, v uint64, n int) []byte {
		other := bytes.Clone(idx)
		copy(other[at:at+n], binary.LittleEndian.AppendUint64(nil, v))
		return other
	}
	for _, r := range []struct {
		data []byte
		kind error
		says string
	}{
		{idx[:33], shard.ErrTruncated, "text.idx at byte 0: cut off: 34 bytes are needed here"},
		{change(0, 'x', 1), shard.ErrCorrupt, "the file is not a Megatron-LM index"},
		{change(9, 2, 8), shard.ErrUnsupported, "version 2: must be 1"},
		{change(17, 7, 1), shard.ErrUnsupported, "tokens of type 7: must be whole numbers"},
		{change(17, 200, 1), shard.ErrUnsupported, "tokens of type 200"},
		{change(18, 1<<63, 8), shard.ErrTruncated, "do not fit"},
		{change(18, 1<<60, 8), shard.ErrTruncated, "1152921504606846976 sequences and 4 documents do not fit into 126 bytes"},
		{change(26, 1<<62, 8), shard.ErrTruncated, "do not fit"},
		{change(26, 3, 8), shard.ErrCorrupt, "8 bytes follow the index"},
		{append(bytes.Clone(idx), 1, 2, 3, 4, 5), shard.ErrUnsupported, "several modalities"},
		{change(lengths, 1<<31, 4), shard.ErrCorrupt, "sequence 0 has -4294967296 bytes at 0"},
		{change(lengths, 4, 4), shard.ErrUnsupported, "sequence 1 does not follow the one before in its document"},
		{change(lengths+4, 900, 4), shard.ErrTruncated, "text.bin at byte 866: cut off: sequence 1 has 1800 bytes at 6, and the file has 866"},
		{change(places+8, 1<<63, 8), shard.ErrCorrupt, "sequence 1 has 2 bytes at -"},
		{change(places+16, 1<<62, 8), shard.ErrTruncated, "sequence 2"},
		{change(limits, 1, 8), shard.ErrCorrupt, "the first document begins with sequence 1"},
		{change(limits+8, 9, 8), shard.ErrCorrupt, "document 0 has sequences 0 to 9, of 5"},
		{change(limits+16, 1, 8), shard.ErrCorrupt, "document 1 has sequences 2 to 1, of 5"},
		{change(limits+24, 4, 8), shard.ErrCorrupt, "the documents have 4 sequences, of 5"},
	} {
		c.Refused(t, "text.idx", r.data, r.kind, r.says)
	}

	delete(c.Folder, "text.idx")
	c.Refused(t, "text.bin", c.Folder["text.bin"], fs.ErrNotExist, "text.bin: open text.idx")
	other := shardtest.Case{Format: megatron.Format{}, File: "x.tokens"}
	other.Refused(t, "x.tokens", nil, shard.ErrUnsupported, "the name does not end in .bin")
}

func FuzzScan(f *testing.F) { golden(f, "text").Fuzz(f) }
