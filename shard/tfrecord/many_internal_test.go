package tfrecord

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/shard/shardtest"
)

// Records without data become very small, and are counted while they are read.
func TestManyRecords(t *testing.T) {
	length := make([]byte, 8)
	record := binary.LittleEndian.AppendUint32(length, checksum(length))
	record = binary.LittleEndian.AppendUint32(record, checksum(nil))
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(bytes.Repeat(record, 1000)) // into memory: no error
	z.Close()
	f, err := shardtest.Folder{"x": b.Bytes()}.Open("x")
	if err != nil {
		t.Fatal(err)
	}

	before := samples
	defer func() { samples = before }()
	samples = func(f shard.File, n int64) error {
		if n > 10 {
			return shard.Wrong(f, -1, shard.ErrUnsupported, "too many")
		}
		return nil
	}
	var found index.Builder
	if err := (Format{}).Scan(t.Context(), f, &found); !errors.Is(err, shard.ErrUnsupported) || found.Len() != 11 {
		t.Errorf("%d samples, %v", found.Len(), err)
	}
}
