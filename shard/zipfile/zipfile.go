package zipfile

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strings"

	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/shard/internal/packed"
	"github.com/headrace/headrace/shard/internal/window"
)

// Format is that of zip files and of NumPy's npz.
type Format struct{}

var _ shard.Unpacker = Format{}

// Name is "zip".
func (Format) Name() string { return "zip" }

// Suffixes are ".zip" and ".npz".
func (Format) Suffixes() []string { return []string{".zip", ".npz"} }

// Begins looks for the mark of a member, or of the end of a file that has none.
func (Format) Begins(head []byte) bool {
	return bytes.HasPrefix(head, []byte("PK\x03\x04")) || bytes.HasPrefix(head, []byte("PK\x05\x06"))
}

// codecs are the methods of compression.
var codecs = map[uint16]packed.Codec{0: packed.None, 8: packed.Deflate, 12: packed.Bzip2, 93: packed.Zstd}

// Scan reads the directory, and the header of each member, which alone says where its
// content begins.
func (Format) Scan(ctx context.Context, f shard.File, found *index.Builder) error {
	d, err := findDirectory(f)
	if err != nil {
		return err
	}
	all, err := members(ctx, f, d)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(m member) bool { return leftOut(m.name) })
	if err := place(ctx, f, d, all); err != nil {
		return err
	}

	s := &scan{file: f, found: found}
	npz := strings.HasSuffix(strings.ToLower(f.Name()), ".npz")
	if npz {
		if err := s.checkArrays(ctx, all); err != nil { // of which rows are read alone
			return err
		}
	}
	if !npz || slices.ContainsFunc(all, func(m member) bool { return m.method != 0 }) {
		if err := s.addBlocks(all, npz); err != nil {
			return err
		}
	}
	if npz {
		return s.rows(ctx, all)
	}
	return s.samples(ctx, all)
}

// leftOut tells members that are no part of a sample.
func leftOut(name []byte) bool {
	base := name[bytes.LastIndexByte(name, '/')+1:]
	return bytes.IndexByte(base, '.') <= 0 || bytes.HasPrefix(name, []byte("__MACOSX/"))
}

// place reads the headers of members, and sees that their ranges are in the file, before
// the directory, and do not overlap.
func place(ctx context.Context, f shard.File, d directory, all []member) error {
	inOrder := make([]int, len(all))
	for i := range inOrder {
		inOrder[i] = i
	}
	slices.SortStableFunc(inOrder, func(a, b int) int { return cmp.Compare(all[a].header, all[b].header) })

	w := window.New(f)
	end := int64(0) // of the member before
	for n, i := range inOrder {
		if n%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		m := &all[i]
		switch _, known := codecs[m.method]; {
		case m.flags&encrypted != 0:
			return shard.Wrong(f, m.header, shard.ErrUnsupported, "%q is encrypted", m.name)
		case !known:
			return shard.Wrong(f, m.header, shard.ErrUnsupported, "%q is compressed with method %d: "+
				"must be deflate, bzip2 or zstd", m.name, m.method)
		case m.method == 0 && m.size != m.packed:
			return shard.Wrong(f, m.header, shard.ErrCorrupt, "%q is stored, and has %d bytes in %d", m.name, m.size, m.packed)
		case m.header < end:
			return shard.Wrong(f, m.header, shard.ErrCorrupt, "%q overlaps another member", m.name)
		}

		header, err := w.At(m.header, headerLength)
		if err != nil {
			return err
		}
		if u32(header) != headerMark {
			return shard.Wrong(f, m.header, shard.ErrCorrupt, "%q does not begin here", m.name)
		}
		m.start = m.header + headerLength + int64(u16(header[26:])) + int64(u16(header[28:]))
		m.data = m.start
		if m.packed > d.at || m.start > d.at-m.packed {
			return shard.Wrong(f, m.header, shard.ErrCorrupt, "%q has %d bytes, and the directory begins at byte %d",
				m.name, m.packed, d.at)
		}
		// The flags of the header count when it is unpacked.
		if m.flags = u16(header[6:]); m.flags&encrypted != 0 {
			return shard.Wrong(f, m.header, shard.ErrUnsupported, "%q is encrypted", m.name)
		}
		if method := u16(header[8:]); method != m.method {
			return shard.Wrong(f, m.header, shard.ErrCorrupt, "%q is compressed with method %d here, "+
				"and %d as the directory says", m.name, method, m.method)
		}
		end = m.start + m.packed
	}
	return ctx.Err()
}

// scan is one that has found the members.
type scan struct {
	file  shard.File
	found *index.Builder
}

// mostDeflated is how many times deflate can make something smaller.
const mostDeflated = 1032

// checkArrays compares the checksums of arrays that are stored. Rows of them are read, of
// which there is none, so it is done once.
func (s *scan) checkArrays(ctx context.Context, all []member) error {
	buf := make([]byte, 1<<18)
	for i := range all {
		m := &all[i]
		if m.method != 0 {
			continue
		}
		sum := uint32(0)
		for at := int64(0); at < m.size; {
			if err := ctx.Err(); err != nil {
				return err
			}
			p := buf[:min(int64(len(buf)), m.size-at)]
			if n, err := s.file.ReadAt(p, m.start+at); n < len(p) {
				return shard.Wrong(s.file, m.start+at+int64(n), shard.ErrTruncated, "%q ends early: %v", m.name, err)
			}
			sum = crc32.Update(sum, crc32.IEEETable, p)
			at += int64(len(p))
		}
		if sum != m.sum {
			return shard.Wrong(s.file, m.start, shard.ErrCorrupt, "the checksum of array %q is wrong",
				strings.TrimSuffix(string(m.name), ".npy"))
		}
	}
	return nil
}

// addBlocks makes a block of each member, in their order. From then on the place of a
// member is that in what they unpack to.
func (s *scan) addBlocks(all []member, npz bool) error {
	at := int64(0)
	for i := range all {
		m := &all[i]
		if m.method == 8 && m.size/mostDeflated > m.packed+1 {
			return shard.Wrong(s.file, m.header, shard.ErrCorrupt, "%d bytes of %q cannot hold %d", m.packed, m.name, m.size)
		}
		if m.size > math.MaxInt64-at {
			return shard.Wrong(s.file, m.header, shard.ErrCorrupt, "%q has %d bytes", m.name, m.size)
		}
		b := m.block()
		if npz && b.Codec&index.Summed != 0 {
			b.Codec = index.Stored
		}
		s.found.Block(b)
		m.data = at
		at += m.size
	}
	return nil
}

// block is the content of a member as it is, or all of a member that is compressed, so
// that its checksum is in it.
func (m *member) block() index.Block {
	codec := codecs[m.method]
	if codec == packed.None {
		return index.Block{At: m.start, Len: m.size, Size: m.size, Codec: index.Summed | uint64(m.sum)}
	}
	length := m.start + m.packed - m.header
	if m.flags&descriptor != 0 {
		length += descriptorLength
	}
	return index.Block{At: m.header, Len: length, Size: m.size, Codec: uint64(codec)}
}

// samples groups members by the key of their names.
func (s *scan) samples(ctx context.Context, all []member) error {
	numbers := map[string]int{}
	order := make([]int, len(all)) // of members, by their samples
	of := make([]int, len(all))
	for i, m := range all {
		key, _ := cut(m.name)
		n, ok := numbers[string(key)]
		if !ok {
			n = len(numbers)
			numbers[string(key)] = n
		}
		order[i], of[i] = i, n
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(of[a], of[b]) })

	var fields []string // of the sample
	for n, i := range order {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		m := &all[i]
		key, field := cut(m.name)
		if n == 0 || of[order[n-1]] != of[i] {
			s.found.Sample(key)
			fields = fields[:0]
		}
		if slices.Contains(fields, field) {
			return shard.Wrong(s.file, m.header, shard.ErrCorrupt, "%q: sample %q has two members %q", m.name, key, field)
		}
		fields = append(fields, field)
		s.found.Part([]byte(field), m.data, m.size)
	}
	return nil
}

// cut parts a name into the key of a sample and a field.
func cut(name []byte) (key []byte, field string) {
	slash := bytes.LastIndexByte(name, '/') + 1
	dot := slash + bytes.IndexByte(name[slash:], '.')
	return name[:dot], strings.ToLower(string(name[dot+1:]))
}

// Unpack unpacks a member that is compressed, and compares its checksum.
func (Format) Unpack(dst []byte, b index.Block, data []byte) ([]byte, error) {
	if len(data) < headerLength || u32(data) != headerMark {
		return dst, fmt.Errorf("%w: no member of a zip file", shard.ErrCorrupt)
	}
	sum, flags := u32(data[14:]), u16(data[6:])
	from := headerLength + int(u16(data[26:])) + int(u16(data[28:]))
	to := len(data)
	if flags&descriptor != 0 {
		to -= descriptorLength
	}
	if from > to {
		return dst, fmt.Errorf("%w: a member ends in its header", shard.ErrCorrupt)
	}
	if flags&descriptor != 0 {
		after := data[to:]
		if u32(after) == descriptorMark {
			after = after[4:]
		}
		sum = u32(after)
	}

	before := len(dst)
	dst, err := packed.Append(dst, packed.Codec(b.Codec), data[from:to], b.Size)
	if err != nil {
		return dst, err
	}
	if crc32.ChecksumIEEE(dst[before:]) != sum {
		return dst[:before], fmt.Errorf("%w: the checksum of a member's content is wrong", shard.ErrCorrupt)
	}
	return dst, nil
}
