package npz

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"sync"
	"unicode/utf8"
	"unsafe"

	"github.com/headrace/headrace/internal/npy"

	"github.com/klauspost/compress/flate"
)

// Array is one of an archive.
type Array struct {
	Name   string
	Other  string // why it is none, but another member; empty: it is an array
	member member
}

// member is one of a zip file.
type member struct {
	packed   []byte // its content in the archive
	size     int64  // of its content
	sum      uint32 // CRC-32 of its content
	deflated bool   // or it is stored as it is
}

// Open returns the arrays of an archive, in its order.
func Open(archive []byte) ([]Array, error) {
	r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // names are no paths
		return nil, err
	}
	all := make([]Array, 0, len(r.File))
	seen := make(map[string]bool, len(r.File))
	for _, f := range r.File {
		if seen[f.Name] {
			return nil, fmt.Errorf("%q is in it twice", f.Name)
		}
		seen[f.Name] = true
		name, is := strings.CutSuffix(f.Name, ".npy")
		a := Array{Name: name}
		if a.member, err = memberOf(archive, f); err != nil {
			return nil, fmt.Errorf("%q: %w", f.Name, err)
		}
		switch {
		case !is:
			a.Other = "not an array: its name must end in .npy"
		case name == "":
			a.Other = "an array without a name"
		case !utf8.ValidString(name):
			a.Other = "an array whose name is not UTF-8"
		}
		all = append(all, a)
	}
	return all, nil
}

// encrypted is a flag of members.
const encrypted = 1

// mostDeflated is how many times deflate can make something smaller.
const mostDeflated = 1032

func memberOf(archive []byte, f *zip.File) (m member, err error) {
	switch {
	case f.Flags&encrypted != 0:
		return m, errors.New("it is encrypted")
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return m, fmt.Errorf("it is compressed with method %d: must be deflate", f.Method)
	case f.Method == zip.Store && f.CompressedSize64 != f.UncompressedSize64:
		return m, fmt.Errorf("it is stored, and has %d bytes in %d", f.UncompressedSize64, f.CompressedSize64)
	case f.Method == zip.Deflate && f.UncompressedSize64/mostDeflated > f.CompressedSize64+1:
		return m, fmt.Errorf("%d bytes cannot hold %d", f.CompressedSize64, f.UncompressedSize64)
	}
	at, err := f.DataOffset()
	if err != nil {
		return m, err
	}
	if left := int64(len(archive)) - at; left < 0 || f.CompressedSize64 > uint64(left) {
		return m, fmt.Errorf("it has %d bytes, and %d follow", f.CompressedSize64, max(0, left))
	}
	packed := archive[at : at+int64(f.CompressedSize64)]
	return member{packed, int64(f.UncompressedSize64), f.CRC32, f.Method == zip.Deflate}, nil
}

// Memory is how many bytes of memory it takes to read the array, at most.
func (a *Array) Memory() int64 {
	if a.member.deflated { // it may be in another order
		return 2 * a.member.size
	}
	return a.member.size
}

// Whole returns the member: the header and the elements as they are. Room gives memory.
func (a *Array) Whole(room func(n int) []byte) (file []byte, form npy.Form, err error) {
	if a.member.deflated {
		file = room(int(a.member.size))
		err = a.inflate(func(r io.Reader) error { return a.fill(r, file) })
	} else {
		file = a.member.packed
	}
	if err != nil {
		return nil, form, err
	}
	if err := a.check(crc32.ChecksumIEEE(file)); err != nil {
		return nil, form, err
	}
	form, err = a.form(file)
	return file, form, err
}

// Form returns the form that the array's header has.
func (a *Array) Form() (form npy.Form, err error) {
	if !a.member.deflated {
		return a.form(a.member.packed)
	}
	err = a.inflate(func(r io.Reader) error {
		_, form, err = a.head(r)
		return err
	})
	return form, err
}

// Read returns the elements of an array of numbers, if their form fits. Room gives memory
// for those that cannot stay in the archive's.
func (a *Array) Read(fits func(npy.Form) error, room func(n int) []byte) (data []byte, form npy.Form, err error) {
	if !a.member.deflated {
		if form, err = a.form(a.member.packed); err != nil {
			return nil, form, err
		}
		if err := fits(form); err != nil {
			return nil, form, err
		}
		if err := a.check(crc32.ChecksumIEEE(a.member.packed)); err != nil {
			return nil, form, err
		}
		return inOrder(a.member.packed[form.At:], form, room, false), form, nil
	}
	err = a.inflate(func(r io.Reader) error {
		var head []byte
		if head, form, err = a.head(r); err != nil {
			return err
		}
		if err := fits(form); err != nil {
			return err
		}
		data = room(int(form.Size))
		if err := a.fill(r, data); err != nil {
			return err
		}
		return a.check(crc32.Update(crc32.ChecksumIEEE(head), crc32.IEEETable, data))
	})
	if err != nil {
		return nil, form, err
	}
	return inOrder(data, form, room, true), form, nil
}

// inOrder returns elements in the order of samples, aligned. Own says that they may be
// changed.
func inOrder(data []byte, f npy.Form, room func(n int) []byte, own bool) []byte {
	was := data
	switch {
	case f.Fortran:
		data = room(len(was))
		npy.Turn(data, was, f.Shape, f.Item)
	case !own && (f.Swapped || !aligned(data, f.Item)):
		data = room(len(was))
		copy(data, was)
	}
	if f.Swapped {
		npy.Swap(data, f.Item)
	}
	return data
}

func aligned(data []byte, item int) bool {
	return item <= 1 || uintptr(unsafe.Pointer(unsafe.SliceData(data)))%uintptr(item) == 0
}

// form reads the header of a member, of which file is the beginning.
func (a *Array) form(file []byte) (f npy.Form, err error) {
	if f, err = npy.ReadForm(file); err != nil {
		return f, a.wrong(errors.New(strings.TrimPrefix(err.Error(), "npy: ")))
	}
	if has := a.member.size - int64(f.At); has != f.Size {
		return f, a.wrong(fmt.Errorf("%d bytes follow the header: an array %v of %s has %d", has, f.Shape, f.Descr, f.Size))
	}
	return f, nil
}

// usualHeader is as long as NumPy's headers of arrays of numbers are.
const usualHeader = 128

// head reads the header of a member that is inflated.
func (a *Array) head(r io.Reader) (head []byte, f npy.Form, err error) {
	head = make([]byte, min(12, a.member.size), usualHeader)
	if err := a.fill(r, head); err != nil {
		return nil, f, err
	}
	n, err := npy.HeaderSize(head)
	if err != nil {
		return nil, f, a.wrong(errors.New(strings.TrimPrefix(err.Error(), "npy: ")))
	}
	if n = int(min(int64(n), a.member.size)); n > len(head) {
		had := len(head)
		head = append(head, make([]byte, n-had)...)
		if err := a.fill(r, head[had:]); err != nil {
			return nil, f, err
		}
	}
	f, err = a.form(head)
	return head, f, err
}

// readers are of members that are inflated.
var readers = sync.Pool{New: func() any { return flate.NewReader(nil) }}

// inflate calls a function with a reader of the member's content.
func (a *Array) inflate(read func(io.Reader) error) error {
	r := readers.Get().(io.ReadCloser)
	defer readers.Put(r)
	if err := r.(flate.Resetter).Reset(bytes.NewReader(a.member.packed), nil); err != nil {
		return a.wrong(err)
	}
	return read(r)
}

// fill reads as many bytes as there are to be.
func (a *Array) fill(r io.Reader, p []byte) error {
	if n, err := io.ReadFull(r, p); err != nil {
		return a.wrong(fmt.Errorf("the compressed data ends or is damaged after %d of %d bytes: %w", n, len(p), err))
	}
	return nil
}

func (a *Array) check(sum uint32) error {
	if sum != a.member.sum {
		return a.wrong(fmt.Errorf("it is damaged: its checksum is %08x, and should be %08x", sum, a.member.sum))
	}
	return nil
}

func (a *Array) wrong(err error) error { return fmt.Errorf("array %q: %w", a.Name, err) }
