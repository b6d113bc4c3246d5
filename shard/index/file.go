package index

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"sort"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Suffix is that of index files.
const Suffix = ".hri"

// magic begins an index file, with the version of its form and of what formats find: it
// changes with either.
const magic = "headrace shards 5\n"

// Shard is what an index says of a shard.
type Shard struct {
	Name    string // within its set, whose place is not part of it
	Size    int64
	Version string // what is different when the file has changed
	Samples int64
	Digest  uint32 // of all that was found in it
	at, len int64  // of its segment
}

// File is the index of a set of shards. It is mapped: what is not used takes no memory.
// Segments are checked when they are first used.
type File struct {
	Format  string
	Shards  []Shard
	Fields  []Field // parts of all shards
	Numbers []Field // that are kept in the index itself

	Columns []string          // the order of names: that of the first shard, then what the next has besides
	Refused map[string]string // fields that cannot be read, and why
	Mixed   map[string]string // fields that are of one type in a shard and of another in the next, which they are

	ends     []int64 // of the samples of shards
	segments []atomic.Pointer[Segment]
	data     []byte
	unmap    func()
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Digest is that of a segment.
func Digest(segment []byte) uint32 { return crc32.Checksum(segment, castagnoli) }

// Writer writes an index: the segments, then what is known of the shards, then where
// that begins.
type Writer struct {
	w      *bufio.Writer
	at     int64
	format string
	shards []Shard
	fields union
	err    error
}

// NewWriter begins an index of shards of a format.
func NewWriter(w io.Writer, format string) *Writer {
	out := &Writer{w: bufio.NewWriterSize(w, 1<<18), format: format}
	out.write([]byte(magic))
	return out
}

func (w *Writer) write(b []byte) {
	if w.err == nil {
		_, w.err = w.w.Write(b)
	}
	w.at += int64(len(b))
}

// Add adds the segment of the next shard.
func (w *Writer) Add(s Shard, segment []byte) error {
	parsed, err := Parse(segment)
	if err != nil {
		return err
	}
	w.fields.add(parsed, s.Name)
	s.Samples, s.Digest = int64(parsed.Len()), Digest(segment)
	s.at, s.len = w.at, int64(len(segment))
	w.write(segment)
	w.shards = append(w.shards, s)
	return w.err
}

// trailer is how many bytes end an index: where what is known of the shards begins, and
// its checksum.
const trailer = 12

// Close writes what is known of the shards.
func (w *Writer) Close() error {
	w.fields.settle()
	dst := appendText(nil, w.format)
	dst = binary.AppendUvarint(dst, uint64(len(w.fields.fields)))
	for _, f := range w.fields.fields {
		dst = appendField(dst, f)
	}
	dst = binary.AppendUvarint(dst, uint64(len(w.fields.numbers)))
	for _, f := range w.fields.numbers {
		dst = appendField(dst, f)
	}
	dst = appendNames(appendRefused(appendRefused(dst, w.fields.refused), w.fields.mixed), w.fields.columns)
	dst = binary.AppendUvarint(dst, uint64(len(w.shards)))
	for _, s := range w.shards {
		dst = appendText(appendText(dst, s.Name), s.Version)
		for _, n := range []int64{s.Size, s.Samples, s.at, s.len, int64(s.Digest)} {
			dst = binary.AppendUvarint(dst, uint64(n))
		}
	}

	begin := w.at
	w.write(dst)
	end := binary.LittleEndian.AppendUint64(nil, uint64(begin))
	w.write(binary.LittleEndian.AppendUint32(end, crc32.Checksum(append(dst, end...), castagnoli)))
	if w.err == nil {
		w.err = w.w.Flush()
	}
	return w.err
}

// Write writes an index to a file, so that nobody ever finds half of one.
func Write(path, format string, each func(*Writer) error) (err error) {
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	f, err := os.CreateTemp(folder, ".headrace-index-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	w := NewWriter(f, format)
	if err = each(w); err == nil {
		err = w.Close()
	}
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// Load maps the index at a path, unless believe returns an error for the file.
func Load(path string, believe func(fd int) error) (*File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := believe(int(f.Fd())); err != nil {
		return nil, err
	}
	s, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !s.Mode().IsRegular() || s.Size() < int64(len(magic)+trailer) || s.Size() > math.MaxInt {
		return nil, ErrDamaged
	}
	data, err := syscall.Mmap(int(f.Fd()), 0, int(s.Size()), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, &os.PathError{Op: "mmap", Path: path, Err: err}
	}
	x, err := Read(data)
	if err != nil {
		_ = syscall.Munmap(data)
		return nil, err
	}
	x.unmap = func() { _ = syscall.Munmap(data) }
	return x, nil
}

// Read reads an index from memory, which must stay as it is.
func Read(data []byte) (*File, error) {
	if len(data) < len(magic)+trailer || string(data[:len(magic)]) != magic {
		return nil, ErrDamaged
	}
	end := data[len(data)-trailer:]
	begin := binary.LittleEndian.Uint64(end)
	if begin < uint64(len(magic)) || begin > uint64(len(data)-trailer) ||
		crc32.Checksum(data[begin:len(data)-4], castagnoli) != binary.LittleEndian.Uint32(end[8:]) {
		return nil, ErrDamaged
	}

	c := cursor{b: data[begin : len(data)-trailer]}
	x := &File{data: data[:begin], Format: string(c.text())}
	for range c.count() {
		x.Fields = append(x.Fields, c.field())
	}
	for range c.count() {
		x.Numbers = append(x.Numbers, c.field())
	}
	x.Refused, x.Mixed, x.Columns = c.refused(), c.refused(), c.names()
	n := c.count()
	x.Shards = make([]Shard, 0, n/8)
	all := int64(0)
	for range n {
		s := Shard{Name: string(c.text()), Version: string(c.text())}
		s.Size, s.Samples, s.at, s.len, s.Digest = int64(c.uvarint()), int64(c.uvarint()),
			int64(c.uvarint()), int64(c.uvarint()), uint32(c.uvarint())
		switch {
		case c.bad, s.Size < 0,
			s.Samples < 0, s.Samples > 1<<48,
			s.at < 0, s.at > int64(begin),
			s.len < 0, s.len > int64(begin)-s.at: // segments come before the list
			return nil, ErrDamaged
		}
		if all += s.Samples; all > 1<<48 {
			return nil, ErrDamaged
		}
		x.Shards, x.ends = append(x.Shards, s), append(x.ends, all)
	}
	if c.bad {
		return nil, ErrDamaged
	}
	x.segments = make([]atomic.Pointer[Segment], n)
	return x, nil
}

// Close gives back the memory. Nothing of the index may be in use then.
func (x *File) Close() {
	if x.unmap != nil {
		x.unmap()
	}
}

// Compare orders names as the columns of the files are, and the others after them.
func (x *File) Compare() func(a, b string) int {
	place := make(map[string]int, len(x.Columns))
	for i, name := range x.Columns {
		place[name] = i + 1
	}
	of := func(name string) int { return cmp.Or(place[name], len(x.Columns)+1) }
	return func(a, b string) int { return cmp.Compare(of(a), of(b)) }
}

// Len is how many samples all shards have.
func (x *File) Len() int64 {
	if len(x.ends) == 0 {
		return 0
	}
	return x.ends[len(x.ends)-1]
}

// Find returns the shard of a sample, and its number in it. The sample must be one.
func (x *File) Find(i int64) (shard, in int) {
	shard = sort.Search(len(x.ends), func(n int) bool { return x.ends[n] > i })
	if shard > 0 {
		i -= x.ends[shard-1]
	}
	return shard, int(i)
}

// Segment returns that of a shard. The first time, it is checked.
func (x *File) Segment(shard int) (*Segment, error) {
	if s := x.segments[shard].Load(); s != nil {
		return s, nil
	}
	b := x.Bytes(shard)
	if Digest(b) != x.Shards[shard].Digest {
		return nil, ErrDamaged
	}
	s, err := Parse(b)
	if err != nil || int64(s.Len()) != x.Shards[shard].Samples {
		return nil, ErrDamaged
	}
	x.segments[shard].Store(s)
	x.leave(b)
	return s, nil
}

// leave has the process hold no pages of bytes that were gone through once and are needed
// here and there from now on: they stay in the page cache.
func (x *File) leave(b []byte) {
	page := uintptr(os.Getpagesize())
	before := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) % page
	if x.unmap == nil || uintptr(len(b)) < before+page {
		return
	}
	b = b[before:]
	_ = unix.Madvise(b[:uintptr(len(b))/page*page], unix.MADV_DONTNEED)
}

// Replace has a shard's segment be another one, where that in the file is damaged.
func (x *File) Replace(shard int, s *Segment) { x.segments[shard].Store(s) }

// Bytes are those of a shard's segment.
func (x *File) Bytes(shard int) []byte {
	s := &x.Shards[shard]
	return x.data[s.at : s.at+s.len]
}
