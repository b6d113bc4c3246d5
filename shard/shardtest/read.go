package shardtest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"
	"sort"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/tensor"
)

// mostUnpacked is the size of blocks up to which the suite unpacks them. Those who read
// shards have such a limit too.
const mostUnpacked = 1 << 26

// errPromise is an index, or a value, that no format may give, whatever is in a file.
var errPromise = errors.New("a broken promise")

// One reads a sample of a set.
func One(ctx context.Context, r *shard.Reader, i int64) ([]shard.Value, error) {
	var p shard.Place
	if err := r.Locate(i, &p); err != nil {
		return nil, err
	}
	values, _, err := r.Read(ctx, &p, make([]byte, p.Bytes))
	return values, err
}

// reader reads samples in the simplest way.
type reader struct {
	format shard.Format
	file   *File
	found  index.Builder
	starts []int64 // of blocks, unpacked, and where the last ends
	block  int     // that was unpacked last
	memory []byte  // what was in it
}

// newReader scans a shard.
func newReader(ctx context.Context, f shard.Format, file *File) (*reader, error) {
	r := &reader{format: f, file: file, block: -1}
	if err := f.Scan(ctx, file, &r.found); err != nil {
		return nil, err
	}

	at := int64(0)
	for i, b := range r.found.Blocks {
		inside := b.Len <= file.Size() && b.At <= file.Size()-b.Len
		if b.At < 0 || b.Len < 0 || b.Size < 0 || !inside {
			return nil, fmt.Errorf("%w: block %d is %+v of a file of %d bytes", errPromise, i, b, file.Size())
		}
		if b.Plain() && b.Len != b.Size {
			return nil, fmt.Errorf("%w: block %d is stored, and %+v", errPromise, i, b)
		}
		r.starts = append(r.starts, at)
		if at += b.Size; at < 0 {
			return nil, fmt.Errorf("%w: the blocks have more than 2⁶³ bytes", errPromise)
		}
	}
	r.starts = append(r.starts, at)
	for name, why := range r.found.Refused {
		if name == "" || why == "" {
			return nil, fmt.Errorf("%w: field %q is refused because of %q", errPromise, name, why)
		}
	}
	return r, r.check(at)
}

// check finds what no index may have.
func (r *reader) check(unpacked int64) error {
	size := r.file.Size()
	if len(r.found.Blocks) > 0 {
		size = unpacked
	}
	for i := range r.found.Len() {
		_, parts := r.found.Of(i)
		seen := map[int]bool{}
		for _, p := range parts {
			if p.At < 0 || p.Len < 0 || p.Len > size || p.At > size-p.Len {
				return fmt.Errorf("%w: sample %d has %+v of %d bytes", errPromise, i, p, size)
			}
			if seen[p.Field] {
				return fmt.Errorf("%w: sample %d has two parts %q", errPromise, i, r.found.Fields[p.Field])
			}
			seen[p.Field] = true
		}
	}
	return nil
}

// all returns the samples in sequence. With an error, it returns those before.
func all(ctx context.Context, f shard.Format, file *File) (samples []Sample, err error) {
	r, err := newReader(ctx, f, file)
	if err != nil {
		return nil, err
	}
	for i := range r.found.Len() {
		s, err := r.sample(i)
		if err != nil {
			return samples, fmt.Errorf("sample %d: %w", i, err)
		}
		samples = append(samples, s)
	}
	return samples, nil
}

func (r *reader) sample(i int) (Sample, error) {
	key, parts := r.found.Of(i)
	s := Sample{string(key), map[string]Value{}}
	for _, p := range parts {
		data, err := r.bytes(p.At, p.Len)
		if err != nil {
			return s, err
		}
		if err := r.part(&s, r.found.Fields[p.Field], data); err != nil {
			return s, err
		}
	}

	for name, column := range r.found.Ints {
		if !slices.Contains(r.found.Absent[name], int64(i)) {
			s.Fields[name] = number(r.dtype(name, tensor.Int64), uint64(at(column, i)))
		}
	}
	for name, column := range r.found.Floats {
		s.Fields[name] = real(r.dtype(name, tensor.Float64), at(column, i))
	}
	return s, nil
}

// dtype is that of a number in the index.
func (r *reader) dtype(name string, usual tensor.DType) tensor.DType {
	if t, ok := r.found.Types[name]; ok {
		return t.DType
	}
	return usual
}

func number(d tensor.DType, bits uint64) Value {
	return Value{d.String(), binary.LittleEndian.AppendUint64(nil, bits)[:d.Size()]}
}

func real(d tensor.DType, v float64) Value {
	switch d {
	case tensor.Float16:
		return number(d, uint64(tensor.ToFloat16(v)))
	case tensor.Float32:
		return number(d, uint64(math.Float32bits(float32(v))))
	}
	return Float(v)
}

func at[T any](column []T, i int) (v T) {
	if i < len(column) {
		v = column[i]
	}
	return v
}

// part adds what a part is to a sample: one field, or those of a record.
func (r *reader) part(s *Sample, name string, data []byte) (err error) {
	p, ok := r.format.(shard.Parser)
	if h, headed := r.format.(shard.Headed); headed {
		if p, err = h.With(r.found.Header); err != nil {
			return err
		}
	}
	if ok && name == "" {
		return record(s, p, data)
	}
	t, ok := r.found.Types[name]
	if !ok {
		t = sample.BytesType
	}
	s.Fields[name], err = valueOf(t, data, nil)
	return err
}

func record(s *Sample, p shard.Parser, data []byte) error {
	schema, err := p.Schema(data)
	if err != nil {
		return err
	}
	if err := schema.Check(); err != nil {
		return fmt.Errorf("%w: %w", errPromise, err)
	}
	values := make([]shard.Value, len(schema))
	if _, err := p.Parse(data, schema, values, nil); err != nil {
		return err
	}

	for i, f := range schema {
		if s.Fields[f.Name], err = valueOf(f.Type, values[i].Bytes, values[i].Shape); err != nil {
			return fmt.Errorf("%w: field %q: %w", errPromise, f.Name, err)
		}
	}
	return nil
}

// bytes reads a range of the file, or of what its blocks hold.
func (r *reader) bytes(at, n int64) ([]byte, error) {
	if len(r.found.Blocks) == 0 {
		return r.raw(at, n)
	}
	first := sort.Search(len(r.found.Blocks), func(i int) bool { return r.starts[i+1] > at })
	var data []byte
	for i := first; n > 0; i++ {
		skip := at - r.starts[i]
		length := min(r.found.Blocks[i].Size-skip, n)
		piece, err := r.piece(i, skip, length)
		if err != nil {
			return nil, err
		}
		data = append(data, piece...)
		at, n = at+length, n-length
	}
	return data, nil
}

// piece is a range of what a block holds.
func (r *reader) piece(i int, skip, n int64) ([]byte, error) {
	if b := r.found.Blocks[i]; b.Plain() {
		data, err := r.raw(b.At, b.Len)
		if err == nil && b.Codec != index.Stored && crc32.ChecksumIEEE(data) != uint32(b.Codec) {
			err = fmt.Errorf("%w: a checksum", shard.ErrCorrupt)
		}
		if err != nil {
			return nil, err
		}
		return data[skip : skip+n], nil
	}
	if err := r.unpack(i); err != nil {
		return nil, err
	}
	return r.memory[skip : skip+n], nil
}

func (r *reader) unpack(i int) error {
	if r.block == i {
		return nil
	}
	b := r.found.Blocks[i]
	if b.Size > mostUnpacked {
		return fmt.Errorf("block %d has %d bytes", i, b.Size)
	}
	packed, err := r.raw(b.At, b.Len)
	if err != nil {
		return err
	}

	// Unpack appends to what is there.
	const before = "before"
	memory, err := r.unpacked([]byte(before), i, packed)
	if err != nil {
		return err
	}
	if int64(len(memory)) != int64(len(before))+b.Size || string(memory[:len(before)]) != before {
		return fmt.Errorf("%w: block %d of %d bytes became %d", errPromise, i, b.Size, len(memory)-len(before))
	}
	r.block, r.memory = i, memory[len(before):]
	return nil
}

// unpacked appends what a block holds, by the block that it refers to where it does.
func (r *reader) unpacked(dst []byte, i int, packed []byte) ([]byte, error) {
	b := r.found.Blocks[i]
	f, ok := r.format.(shard.Referring)
	if !ok || !f.Refers(b) {
		return r.format.(shard.Unpacker).Unpack(dst, b, packed)
	}
	for i--; i >= 0 && !f.Target(r.found.Blocks[i]); i-- {
	}
	if i < 0 {
		return nil, fmt.Errorf("%w: a block refers to none", errPromise)
	}
	if err := r.unpack(i); err != nil {
		return nil, err
	}
	return f.UnpackWith(dst, b, packed, r.memory)
}

func (r *reader) raw(at, n int64) ([]byte, error) {
	data := make([]byte, n)
	if got, err := r.file.ReadAt(data, at); err != nil && (err != io.EOF || int64(got) < n) {
		return nil, err
	}
	return data, nil
}
