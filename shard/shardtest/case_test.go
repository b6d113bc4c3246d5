package shardtest_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/shard/shardtest"
	"github.com/headrace/headrace/tensor"
)

// pairs is the smallest format that uses all of the contract: a mark, then records of a
// length byte, a number byte, and bytes. A file whose mark is "P" has its records doubled
// in one block, each byte twice.
type pairs struct{}

func (pairs) Name() string            { return "pairs" }
func (pairs) Suffixes() []string      { return []string{".pairs"} }
func (pairs) Begins(head []byte) bool { return bytes.HasPrefix(head, []byte("p")) }

func (pairs) Scan(ctx context.Context, f shard.File, found *index.Builder) error {
	data := make([]byte, f.Size())
	if _, err := f.ReadAt(data, 0); err != nil {
		return shard.Wrong(f, 0, shard.ErrTruncated, "%v", err)
	}
	at := int64(1)
	if data[0] == 'P' {
		plain, err := pairs{}.Unpack(nil, index.Block{Size: int64(len(data)-1) / 2}, data[1:])
		if err != nil {
			return err
		}
		found.Block(index.Block{At: 1, Len: f.Size() - 1, Size: int64(len(plain)), Codec: 1})
		data, at = plain, 0
	}
	found.Type("row", sample.TensorType(tensor.Uint8, tensor.Unknown, 2))
	for at < int64(len(data)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := int64(data[at])
		if at+2+n > int64(len(data)) {
			return shard.Wrong(f, at, shard.ErrTruncated, "a record of %d bytes", n)
		}
		if n%2 != 0 {
			return shard.Wrong(f, at, shard.ErrCorrupt, "an odd record")
		}
		found.Sample([]byte{'k', data[at+1]})
		found.Part([]byte("row"), at+2, n)
		found.Int("number", int64(data[at+1]))
		found.Float("half", float64(data[at+1])/2)
		at += 2 + n
	}
	return ctx.Err()
}

func (pairs) Unpack(dst []byte, b index.Block, packed []byte) ([]byte, error) {
	if int64(len(packed)) != 2*b.Size {
		return dst, shard.ErrCorrupt
	}
	for i := 0; i < len(packed); i += 2 {
		if packed[i] != packed[i+1] {
			return dst, shard.ErrCorrupt
		}
		dst = append(dst, packed[i])
	}
	return dst, nil
}

func row(key byte, data string) shardtest.Sample {
	return shardtest.Sample{Key: "k" + string(key), Fields: map[string]shardtest.Value{
		"row":    {Type: map[int]string{0: "uint8 [0, 2]", 2: "uint8 [1, 2]", 4: "uint8 [2, 2]"}[len(data)], Bytes: []byte(data)},
		"number": shardtest.Int(int64(key)), "half": shardtest.Float(float64(key) / 2),
	}}
}

func TestTheSuitePasses(t *testing.T) {
	plain := "p\x04aWXYZ\x00b\x02cMN"
	packed := []byte("P")
	for _, b := range []byte(plain[1:]) {
		packed = append(packed, b, b)
	}
	for name, data := range map[string][]byte{"plain.pairs": []byte(plain), "packed.pairs": packed} {
		t.Run(name, shardtest.Case{
			Format: pairs{}, File: name, Folder: shardtest.Folder{name: data},
			Want: []shardtest.Sample{row('a', "WXYZ"), row('b', ""), row('c', "MN")},
		}.Run)
	}
}

// greedy takes memory for a length that it has only read.
type greedy struct{ pairs }

func (greedy) Scan(_ context.Context, f shard.File, found *index.Builder) error {
	var n [4]byte
	if _, err := f.ReadAt(n[:], 0); err != nil {
		return shard.Wrong(f, 0, shard.ErrTruncated, "%v", err)
	}
	found.Sample(nil)
	found.Part([]byte("all"), 4, int64(len(make([]byte, min(binary.LittleEndian.Uint32(n[:]), 1<<28)))))
	return nil
}

// The suite fails for a format that takes too much memory, and for parts outside of the
// file.
func TestTheSuiteFails(t *testing.T) {
	for content, want := range map[string]string{"\xff\xff\xff\x0f": "bytes of memory", "\x09\x00\x00\x00": "a broken promise"} {
		c := shardtest.Case{Format: greedy{}, File: "x", Folder: shardtest.Folder{"x": []byte(content)}}
		var seen recorder
		c.Refused(&seen, "x", []byte(content), shard.ErrCorrupt, "")
		if !bytes.Contains(seen.Bytes(), []byte(want)) {
			t.Errorf("the suite says %q, want %q", seen.String(), want)
		}
	}
}

// recorder keeps what it is told.
type recorder struct{ bytes.Buffer }

func (*recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) { fmt.Fprintf(r, format, args...) }
