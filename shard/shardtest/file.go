package shardtest

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/shard"
)

// Folder is files in memory, by their names.
type Folder map[string][]byte

// Load reads the files of a folder and of those below it.
func Load(t testing.TB, dir string) Folder {
	t.Helper()
	all := Folder{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		all[name], err = os.ReadFile(filepath.Join(dir, name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Open opens one of the files as a shard.
func (f Folder) Open(name string) (*File, error) {
	data, ok := f[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &File{name: name, data: data, folder: f}, nil
}

// with returns the folder with other content of one file.
func (f Folder) with(name string, data []byte) Folder {
	other := Folder{name: data}
	for each, content := range f {
		if each != name {
			other[each] = content
		}
	}
	return other
}

func (f Folder) names() []string { return slices.Sorted(maps.Keys(f)) }

// File is a shard in memory.
type File struct {
	name   string
	data   []byte
	folder Folder
	read   int64 // bytes
}

var _ shard.File = (*File)(nil)

// Name returns the name in the folder.
func (f *File) Name() string { return f.name }

// Size returns the bytes of the file.
func (f *File) Size() int64 { return int64(len(f.data)) }

// ReadAt implements [io.ReaderAt].
func (f *File) ReadAt(p []byte, at int64) (int, error) {
	if at < 0 {
		return 0, fmt.Errorf("%s: read at %d", f.name, at)
	}
	if at >= int64(len(f.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.data[at:])
	f.read += int64(n)
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Beside opens another file of the same folder.
func (f *File) Beside(name string) (shard.File, error) {
	if strings.ContainsAny(name, `/\`) {
		return nil, fmt.Errorf("%q is not the name of a file", name)
	}
	other, err := f.folder.Open(path.Join(path.Dir(f.name), name))
	if err != nil {
		return nil, err // not other, which would be a File that is nil
	}
	return other, nil
}
