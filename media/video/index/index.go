// Package index keeps what was found of the packets of videos whose containers have no
// index that could be read by itself, as Matroska, WebM, AVI and MPEG-TS: otherwise the
// whole file is read to find them.
//
// [Build] writes an index, into a folder of the user's or beside the file. [Of] gives a
// file the index that fits it. One of another size, time of change or version of Headrace
// or FFmpeg, or one that is damaged, is not used: the packets are found again.
package index

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"

	"headrace/media/video"
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

// format is increased when what an index says changes.
const format = 1

func identify(path string) (identity, error) {
	s, err := os.Stat(path)
	if err != nil {
		return identity{}, err
	}
	return identity{format, video.LibraryVersion(), s.Size(), s.ModTime().UnixNano()}, nil
}

// content is what follows the header of an index.
type content struct {
	Of        identity
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

// load returns the index at a path, if it is one of this identity.
func load(at string, of identity) (*video.Container, error) {
	s, err := os.Stat(at)
	if err != nil {
		return nil, err
	}
	if s.Size() > most || !s.Mode().IsRegular() {
		return nil, errDamaged
	}
	all, err := os.ReadFile(at)
	if err != nil {
		return nil, err
	}
	c, err := decode(all)
	if err != nil {
		return nil, err
	}
	if c.Of != of {
		return nil, errStale
	}
	return &c.Container, nil
}

var errStale = errors.New("the index is of another state of the file, or of another version")

// find returns the index of a file, from beside it or from the folder.
func find(path string, of identity) *video.Container {
	for _, at := range []string{path + Suffix, placeOf(path)} {
		if at == "" {
			continue
		}
		if c, err := load(at, of); err == nil {
			return c
		}
	}
	return nil
}

// Of returns a file with its index, if it has one that fits. The path must be absolute.
func Of(file video.File, path string) video.File { return indexed{file, path} }

type indexed struct {
	video.File
	path string
}

// Container implements [video.Indexed].
func (f indexed) Container() (*video.Container, error) {
	if of, err := identify(f.path); err == nil && of.Size == f.Size() {
		if c := find(f.path, of); c != nil {
			return c, nil
		}
	}
	return video.Demux(f.File)
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
