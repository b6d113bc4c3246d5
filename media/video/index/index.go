// Package index keeps what was found of the packets of videos whose containers have no
// index that could be read by itself, as Matroska, WebM, AVI and MPEG-TS: otherwise the
// whole file is read to find them.
//
// [Build] writes an index, into a folder of the user's or beside the file. [Of] gives a
// file the index that fits it. One of another size, time of change or version of Headrace
// or FFmpeg, or one that is damaged, is not used: the packets are found again. So they
// are where somebody could have written it who could not have written the file, and the
// index is then kept in this user's folder.
package index

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/headrace/headrace/internal/trust"
	"github.com/headrace/headrace/media/video"
	"github.com/headrace/headrace/store"
)

// Suffix is that of indices beside their files.
const Suffix = ".hri"

// identity is what an index must have in common with its file, and with the program.
type identity struct {
	Format  int // of the index
	Library string
	Size    int64
	Changed int64 // when the file was changed, in nanoseconds
}

// original is a state of a file on one machine. Another one is of a copy, or of a file
// that was written again and given its former time.
type original struct {
	Inode   uint64
	Touched int64 // when the file, its mode or its names were changed, which no program can set
}

// format is increased when what an index says changes.
const format = 5

// remote is a file of a store, which says itself which version it is.
type remote interface {
	IsLocal() bool
	Object() store.Object
	Beside(suffix string, most int64) (store.File, error)
}

// inStore returns a file of a store, or nil for one of this machine.
func inStore(file video.File) remote {
	if f, ok := file.(remote); ok && !f.IsLocal() {
		return f
	}
	return nil
}

// identify returns the state of a file: of one in a store, as it was opened.
func identify(path string, file video.File) (id identity, at original, err error) {
	if f := inStore(file); f != nil {
		o := f.Object()
		version := sha256.Sum256([]byte(o.Version))
		return identity{format, video.LibraryVersion(), o.Size, int64(binary.LittleEndian.Uint64(version[:]))}, at, nil
	}
	var s unix.Stat_t
	if err := unix.Stat(path, &s); err != nil {
		return id, at, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return identity{format, video.LibraryVersion(), s.Size, s.Mtim.Nano()}, original{s.Ino, s.Ctim.Nano()}, nil
}

// content is what follows the header of an index.
type content struct {
	Of        identity
	At        original
	Print     uint32 // what is in some places of the file
	Container video.Container
}

// magic begins an index; the checksum of the rest follows.
const magic = "HRVINDX\n"

// most is how large an index may be: that of a day of video has a tenth.
const most = 1 << 28

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func encode(c *content) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(magic + "sum.")
	if err := gob.NewEncoder(&b).Encode(c); err != nil {
		return nil, err
	}
	return seal(b.Bytes()), nil
}

// seal writes the checksum into an index, and its magic.
func seal(all []byte) []byte {
	copy(all, magic)
	binary.LittleEndian.PutUint32(all[len(magic):], crc32.Checksum(all[len(magic)+4:], castagnoli))
	return all
}

var errDamaged = errors.New("the index is damaged")

func decode(all []byte) (*content, error) {
	if len(all) < len(magic)+4 || string(all[:len(magic)]) != magic {
		return nil, errDamaged
	}
	body := all[len(magic)+4:]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(all[len(magic):]) {
		return nil, errDamaged
	}
	c := new(content)
	if err := gob.NewDecoder(bytes.NewReader(body)).Decode(c); err != nil {
		return nil, errDamaged
	}
	for i := range c.Container.Tracks {
		for _, p := range c.Container.Tracks[i].Packets {
			if p.Offset < 0 || p.Size < 0 {
				return nil, errDamaged
			}
		}
	}
	return c, nil
}

// load returns the index at a path, if it is one of this file.
func load(at, path string, file video.File) (*video.Container, error) {
	of, where, err := identify(path, file)
	if err != nil {
		return nil, err
	}
	all, err := read(at, path, file)
	if err != nil {
		return nil, err
	}
	c, err := decode(all)
	if err != nil {
		return nil, err
	}
	if c.Of != of || of.Size != file.Size() {
		return nil, errStale
	}
	if c.At != where {
		if print, err := printOf(file); err != nil || print != c.Print {
			return nil, errStale
		}
	}
	return &c.Container, nil
}

// read returns the content of an index at a path, if it is believed for a file. One
// beside a file of a store is: whoever writes there can write the file.
func read(at, path string, file video.File) ([]byte, error) {
	of := []string{path}
	if f := inStore(file); f != nil && at == path+Suffix {
		return readBeside(f)
	} else if f != nil {
		of = nil
	}
	f, err := os.OpenFile(at, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var judge trust.Judge
	if err := judge.Check(int(f.Fd()), at, of); err != nil {
		return nil, err
	}
	s, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if s.Size() > most || !s.Mode().IsRegular() {
		return nil, errDamaged
	}
	return io.ReadAll(io.LimitReader(f, most))
}

func readBeside(file remote) ([]byte, error) {
	f, err := file.Beside(Suffix, most)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Read(nil)
}

var errStale = errors.New("the index is of another state of the file, or of another version")

// doubted reports whether an index is not used because of who could have written it.
func doubted(err error) bool {
	var doubt *trust.Doubt
	return errors.As(err, &doubt)
}

// printOf is a checksum of some places of a file, by which one that was written again, of
// the same size and with its former time, is told from a copy.
func printOf(file video.File) (sum uint32, err error) {
	const places, each = 16, 256
	step := max(0, file.Size()-each) / (places - 1)
	var b [each]byte
	for i := range int64(places) {
		n, err := file.ReadAt(b[:], i*step)
		if err != nil && err != io.EOF {
			return 0, err
		}
		sum = crc32.Update(sum, castagnoli, b[:n])
	}
	return sum, nil
}

// Of returns a file with its index, if it has one that fits. The path must be absolute.
// Warn is told of an index that is not believed, when another one has been made.
func Of(file video.File, path string, warn func(message string)) video.File {
	return indexed{file, path, warn}
}

type indexed struct {
	video.File
	path string
	warn func(string)
}

// Container implements [video.Indexed].
func (f indexed) Container() (*video.Container, error) {
	var doubt error
	own := "" // the first place that is not somebody else's
	for i, at := range append([]string{f.path + Suffix}, placesOf(f.path)...) {
		c, err := load(at, f.path, f.File)
		if err == nil {
			return c, nil
		}
		if doubted(err) {
			doubt = cmp.Or(doubt, err)
		} else if i > 0 && own == "" {
			own = at
		}
	}

	c, err := video.Demux(f.File)
	if err == nil && doubt != nil {
		f.instead(own, c, doubt)
	}
	return c, err
}

// instead keeps an index because there is one that is not believed, if there is a place.
func (f indexed) instead(at string, c *video.Container, doubt error) {
	message := fmt.Sprintf("%v: it is not used", doubt)
	of, where, err := identify(f.path, f.File)
	whole := err == nil && at != "" && of.Size == f.Size()
	if whole && save(context.Background(), at, f.File, of, where, c) == nil {
		message += "; the index is now in " + at
	}
	if f.warn != nil {
		f.warn(message + ". To share an index, have root or the owner of the data write it")
	}
}

// save writes the index of a file.
func save(ctx context.Context, at string, file video.File, of identity, where original, c *video.Container) (err error) {
	print := uint32(0)
	if inStore(file) == nil { // whose version says it all
		if print, err = printOf(file); err != nil {
			return err
		}
	}
	all, err := encode(&content{of, where, print, *c})
	if err != nil {
		return err
	}
	if _, _, ok := store.Scheme(at); ok {
		_, err := store.Put(ctx, at, all, store.Condition{})
		return err
	}
	return write(at, all)
}

// write puts an index where no reader sees half of it.
func write(at string, all []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(at), 0o777); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(at), ".headrace-index-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	if _, err = f.Write(all); err != nil {
		f.Close()
		return err
	}
	if err = errors.Join(f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), at)
}

var errChanging = errors.New("the file has changed meanwhile")

func said(path string, err error) error { return fmt.Errorf("%s: %w", path, err) }
