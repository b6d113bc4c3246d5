package arrayrecord

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/shard/internal/window"
	"github.com/headrace/headrace/shard/tfexample"
)

// begin is how every file of Riegeli begins: the header of its first block.
const begin = "\x83\xaf\x70\xd1\x0d\x88\x4a\x3f"

// mark is in the record that ends an ArrayRecord.
const mark = 0x71930e704fdae05e

// whole is the codec of blocks. How the values in a chunk are compressed is in the chunk.
const whole = 1

// Format is that of ArrayRecord files.
type Format struct{}

var (
	_ shard.Lenient  = Format{}
	_ shard.Unpacker = Format{}
)

// Name is "arrayrecord".
func (Format) Name() string { return "arrayrecord" }

// Suffixes are those that people use.
func (Format) Suffixes() []string { return []string{".array_record", ".arrayrecord", ".riegeli"} }

// Begins compares the first checksum.
func (Format) Begins(head []byte) bool { return len(head) >= 64 && string(head[:len(begin)]) == begin }

// Scan reads the headers of chunks, and the sizes of their records.
func (Format) Scan(ctx context.Context, f shard.File, found *index.Builder) error {
	last, err := footer(f)
	if err != nil {
		return err
	}
	s := scan{file: f, w: window.New(f), found: found}
	for at := int64(0); at < last; {
		if err := ctx.Err(); err != nil {
			return err
		}
		end, err := s.chunk(at, last)
		if err != nil {
			return err
		}
		at = end
	}
	return ctx.Err()
}

// scan is one on its way.
type scan struct {
	file    shard.File
	w       *window.Reader
	found   *index.Builder
	decoded int64 // bytes of the blocks so far
}

// read returns n bytes of a chunk, from a place on.
func (s *scan) read(at, n int64) ([]byte, error) {
	length := after(at, n) - at
	if length > s.file.Size() {
		return nil, shard.Wrong(s.file, at, shard.ErrTruncated, "%d bytes are needed here", length)
	}
	raw, err := s.w.At(at, int(length))
	if err != nil {
		return nil, err
	}
	return join(at, raw), nil
}

// wrong says where in the file something is.
func (s *scan) wrong(at int64, err error) error {
	return &shard.Error{Shard: s.file.Name(), At: at, Err: err}
}

// chunk reads one, and returns where it ends.
func (s *scan) chunk(at, last int64) (int64, error) {
	header, err := s.read(at, chunkHeader)
	if err != nil {
		return 0, err
	}
	c, err := chunkOf(header)
	if err != nil {
		return 0, s.wrong(at, err)
	}
	if c.data > last || c.records > last || c.end(at) > last {
		return 0, shard.Wrong(s.file, at, shard.ErrCorrupt, "a chunk of %d bytes and %d records, "+
			"and the index of the file begins at byte %d", c.data, c.records, last)
	}

	switch c.kind {
	case signature, metadata, padding:
		return c.end(at), nil
	case transposed:
		return 0, shard.Wrong(s.file, at, shard.ErrUnsupported, "a transposed chunk: write the file with the option transpose:false")
	case simple:
		return c.end(at), s.records(at, c)
	}
	return 0, shard.Wrong(s.file, at, shard.ErrUnsupported, "a chunk of kind %q", c.kind)
}

// records adds those of a simple chunk.
func (s *scan) records(at int64, c chunk) error {
	sizes, err := s.sizes(at, c)
	if err != nil {
		return err
	}
	if s.decoded+c.decoded < 0 {
		return shard.Wrong(s.file, at, shard.ErrCorrupt, "the records have more than 2⁶³ bytes")
	}
	s.found.Block(index.Block{At: at, Len: after(at, chunkHeader+c.data) - at, Size: c.decoded, Codec: whole})

	left := c.decoded
	for range c.records {
		size, n := binary.Uvarint(sizes)
		if n <= 0 || size > uint64(left) {
			return shard.Wrong(s.file, at, shard.ErrCorrupt, "the sizes of a chunk's records are not those of its data")
		}
		s.found.Sample(nil)
		s.found.Part(nil, s.decoded+c.decoded-left, int64(size))
		sizes, left = sizes[n:], left-int64(size)
	}
	if left != 0 || len(sizes) != 0 {
		return shard.Wrong(s.file, at, shard.ErrCorrupt, "the records of a chunk have %d bytes less than it", left)
	}
	s.decoded += c.decoded
	return nil
}

// sizes reads the sizes of a chunk's records, without its values.
func (s *scan) sizes(at int64, c chunk) ([]byte, error) {
	const before = 1 + binary.MaxVarintLen64
	head, err := s.read(at, chunkHeader+min(before, c.data))
	if err != nil {
		return nil, err
	}
	data := head[chunkHeader:]
	codec, length, rest, err := split(data)
	if err != nil {
		return nil, s.wrong(at, err)
	}
	from := int64(len(data) - len(rest))
	if length > uint64(c.data-from) {
		return nil, shard.Wrong(s.file, at, shard.ErrCorrupt, "the sizes of a chunk's records have %d bytes, of %d", length, c.data)
	}

	upTo, err := s.read(at, chunkHeader+from+int64(length))
	if err != nil {
		return nil, err
	}
	sizes, err := unpack(nil, codec, upTo[chunkHeader+from:], -1, binary.MaxVarintLen64*c.records)
	if err != nil {
		return nil, s.wrong(at, err)
	}
	return sizes, nil
}

// footer finds the chunk at which the index of the file begins. The last block of the
// file is a chunk that says so, three times.
func footer(f shard.File) (at int64, err error) {
	last := f.Size() - blockSize
	if last <= 0 || f.Size()%blockSize != 0 {
		return 0, shard.Wrong(f, f.Size(), shard.ErrTruncated, "the file does not end as an ArrayRecord does")
	}
	s := scan{file: f, w: window.New(f)}
	header, err := s.read(last, chunkHeader)
	if err != nil {
		return 0, err
	}
	c, err := chunkOf(header)
	if err != nil {
		return 0, s.wrong(last, err)
	}
	if c.kind != simple || c.data > usable-chunkHeader || c.records == 0 {
		return 0, shard.Wrong(f, last, shard.ErrTruncated, "the file does not end as an ArrayRecord does")
	}
	read, err := s.read(last, chunkHeader+c.data)
	if err != nil {
		return 0, err
	}
	records, err := values(nil, c, read[chunkHeader:])
	if err != nil {
		return 0, s.wrong(last, err)
	}

	at, ok := postscript(records)
	if !ok || at <= 0 || at > last {
		return 0, shard.Wrong(f, last, shard.ErrCorrupt, "the file does not end with the place of its index")
	}
	return at, nil
}

// postscript reads the first of the records: where the index is, and the mark.
func postscript(record []byte) (at int64, ok bool) {
	if len(record) < 2 || record[0] != 1<<3 {
		return 0, false
	}
	place, n := binary.Uvarint(record[1:])
	if n <= 0 || place > 1<<62 {
		return 0, false
	}
	record = record[1+n:]
	if len(record) == 0 || record[0] != 2<<3 {
		return 0, false
	}
	number, n := binary.Uvarint(record[1:])
	return int64(place), n > 0 && number == mark
}

// values appends those of a simple chunk to dst.
func values(dst []byte, c chunk, data []byte) ([]byte, error) {
	if int64(len(data)) != c.data || hash(data) != c.sum {
		return dst, fmt.Errorf("%w: the checksum of a chunk's data is wrong", shard.ErrCorrupt)
	}
	codec, length, rest, err := split(data)
	if err != nil {
		return dst, err
	}
	if length > uint64(len(rest)) {
		return dst, fmt.Errorf("%w: the sizes of a chunk's records have %d bytes", shard.ErrCorrupt, length)
	}
	return unpack(dst, codec, rest[length:], c.decoded, 0)
}

// Unpack unpacks the records of a chunk, and compares its checksum.
func (Format) Unpack(dst []byte, b index.Block, raw []byte) ([]byte, error) {
	data := join(b.At, raw)
	if len(data) < chunkHeader {
		return dst, fmt.Errorf("%w: a chunk of %d bytes", shard.ErrTruncated, len(data))
	}
	c, err := chunkOf(data)
	if err != nil {
		return dst, err
	}
	if c.decoded != b.Size {
		return dst, fmt.Errorf("%w: a chunk has %d bytes, and should have %d", shard.ErrCorrupt, c.decoded, b.Size)
	}
	return values(dst, c, data[chunkHeader:])
}

// Schema returns the features of a record.
func (Format) Schema(record []byte) (sample.Schema, error) { return tfexample.Schema(record) }

// Parse reads features of a record.
func (Format) Parse(record []byte, want []sample.Field, into []shard.Value, scratch []byte) ([]byte, error) {
	return tfexample.Parse(record, want, shard.Reading{}, into, scratch)
}

// Seen implements [shard.Lenient].
func (Format) Seen(record []byte) ([]shard.Seen, error) {
	return tfexample.Seen(record)
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
	return tfexample.Parse(record, want, p.reading, into, scratch)
}
