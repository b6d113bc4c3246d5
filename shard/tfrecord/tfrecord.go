package tfrecord

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/shard/internal/packed"
	"github.com/headrace/headrace/shard/internal/window"
	"github.com/headrace/headrace/shard/tfexample"
)

const (
	before = 8 + 4 // bytes of the length and of its checksum
	after  = 4     // of the data's
)

// Format is that of TFRecord files.
type Format struct{}

var (
	_ shard.Lenient  = Format{}
	_ shard.Unpacker = Format{}
)

// Name is "tfrecord".
func (Format) Name() string { return "tfrecord" }

// Suffixes are those that people use. Many have none, as train-00000-of-01024.
func (Format) Suffixes() []string {
	return []string{".tfrecord", ".tfrecords", ".tfrec", ".tfrecord.gz", ".tfrecords.gz"}
}

// Begins compares the checksum of the first record's length.
func (Format) Begins(head []byte) bool {
	if codec := codecOf(head); codec != packed.None {
		r, err := packed.NewReader(codec, bytes.NewReader(head))
		if err != nil {
			return false
		}
		defer r.Close() // it was opened for reading
		first := make([]byte, before)
		if _, err := io.ReadFull(r, first); err != nil {
			return false
		}
		head = first
	}
	return len(head) >= before && sound(head)
}

// codecOf tells how a file is compressed. A record whose length looks like a header of
// gzip or zlib has a checksum that tells it from one.
func codecOf(head []byte) packed.Codec {
	switch {
	case len(head) < 2 || len(head) >= before && sound(head):
		return packed.None
	case head[0] == 0x1f && head[1] == 0x8b:
		return packed.Gzip
	case head[0] == 0x78 && (int(head[0])<<8|int(head[1]))%31 == 0:
		return packed.Zlib
	}
	return packed.None
}

// sound compares the checksum of a length.
func sound(header []byte) bool {
	return binary.LittleEndian.Uint32(header[8:]) == checksum(header[:8])
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum is CRC-32C, masked so that checksums of data that hold checksums are no
// problem.
func checksum(data []byte) uint32 {
	c := crc32.Checksum(data, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

// Scan hops from length to length, unless an index beside the file has them.
func (Format) Scan(ctx context.Context, f shard.File, found *index.Builder) error {
	w := window.New(f)
	head, err := w.At(0, int(min(f.Size(), before)))
	if err != nil {
		return err
	}
	if codec := codecOf(head); codec != packed.None {
		return scanPacked(ctx, f, codec, found)
	}

	if ends := listed(f); ends != nil {
		for i, end := range ends[1:] {
			found.Sample(nil)
			found.Part(nil, ends[i]+before, end-ends[i]-before)
		}
		return ctx.Err()
	}
	for at := int64(0); at < f.Size(); {
		if err := ctx.Err(); err != nil {
			return err
		}
		header, err := w.At(at, before)
		if err != nil {
			return err
		}
		n, err := length(f, at, header)
		if err != nil {
			return err
		}
		if n > f.Size()-at-before-after {
			return shard.Wrong(f, at, shard.ErrTruncated, "a record has %d bytes, and the file ends after %d of them",
				n, f.Size()-at-before)
		}
		found.Sample(nil)
		found.Part(nil, at+before, n+after)
		at += before + n + after
	}
	return ctx.Err()
}

// length is that of the record at a place.
func length(f shard.File, at int64, header []byte) (int64, error) {
	if !sound(header) {
		return 0, shard.Wrong(f, at, shard.ErrCorrupt, "the checksum of a record's length is wrong")
	}
	n := int64(binary.LittleEndian.Uint64(header))
	if n < 0 {
		return 0, shard.Wrong(f, at, shard.ErrCorrupt, "a record has 2⁶³ bytes or more")
	}
	return n, nil
}

// samples refuses too many of them. Tests have less.
var samples = packed.Samples

// scanPacked unpacks the whole file, without keeping it.
func scanPacked(ctx context.Context, f shard.File, codec packed.Codec, found *index.Builder) error {
	wrong := func(err error) error {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return shard.Wrong(f, f.Size(), shard.ErrTruncated, "the file ends in the middle of a record")
		}
		return shard.Wrong(f, -1, shard.ErrCorrupt, "%v", err)
	}
	z, err := packed.NewReader(codec, bufio.NewReaderSize(io.NewSectionReader(f, 0, f.Size()), 256<<10))
	if err != nil {
		return &shard.Error{Shard: f.Name(), At: 0, Err: err}
	}
	defer z.Close() // it was opened for reading

	r := bufio.NewReaderSize(z, 64<<10)
	header := make([]byte, before)
	at := int64(0)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := io.ReadFull(r, header); err == io.EOF {
			break
		} else if err != nil {
			return wrong(err)
		}
		n, err := length(f, at, header)
		if err != nil {
			return err
		}
		if skipped, err := io.CopyN(io.Discard, r, n); err != nil {
			return wrong(err)
		} else if _, err := r.Discard(after); err != nil {
			return wrong(err)
		} else if at += before + skipped + after; at < 0 {
			return wrong(errors.New("the records have more than 2⁶³ bytes"))
		}
		found.Sample(nil)
		found.Part(nil, at-n-after, n+after)
		if err := samples(f, int64(found.Len())); err != nil {
			return err
		}
	}
	found.Block(index.Block{Len: f.Size(), Size: at, Codec: uint64(codec)})
	return nil
}

// Unpack unpacks the whole file.
func (Format) Unpack(dst []byte, b index.Block, data []byte) ([]byte, error) {
	return packed.Append(dst, packed.Codec(b.Codec), data, b.Size)
}

// Schema returns the features of a record.
func (Format) Schema(record []byte) (sample.Schema, error) {
	data, err := verified(record)
	if err != nil {
		return nil, err
	}
	return tfexample.Schema(data)
}

// Parse reads features of a record.
func (Format) Parse(record []byte, want []sample.Field, into []shard.Value, scratch []byte) ([]byte, error) {
	data, err := verified(record)
	if err != nil {
		return scratch, err
	}
	return tfexample.Parse(data, want, shard.Reading{}, into, scratch)
}

// verified compares the checksum of a record's data, which are what is before it.
func verified(record []byte) ([]byte, error) {
	n := len(record) - after
	if n < 0 {
		return nil, fmt.Errorf("%w: a record of %d bytes", shard.ErrTruncated, len(record))
	}
	if binary.LittleEndian.Uint32(record[n:]) != checksum(record[:n]) {
		return nil, fmt.Errorf("%w: the checksum of the record's data is wrong", shard.ErrCorrupt)
	}
	return record[:n:n], nil
}

// Seen implements [shard.Lenient].
func (Format) Seen(record []byte) ([]shard.Seen, error) {
	data, err := verified(record)
	if err != nil {
		return nil, err
	}
	return tfexample.Seen(data)
}

// Optional implements [shard.Lenient].
func (Format) Optional(t sample.Type) bool { return tfexample.Optional(t) }

// Strictly implements [shard.Lenient].
func (Format) Strictly(r shard.Reading) shard.Parser { return strict{reading: r} }

// strict is Format whose features have the types of the first record's.
type strict struct {
	Format
	reading shard.Reading
}

// Parse is that of Format without conversions.
func (p strict) Parse(record []byte, want []sample.Field, into []shard.Value, scratch []byte) ([]byte, error) {
	data, err := verified(record)
	if err != nil {
		return scratch, err
	}
	return tfexample.Parse(data, want, p.reading, into, scratch)
}
