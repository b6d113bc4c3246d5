package export

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/headrace/headrace/store"
)

// suffix of a file that is not complete.
const partSuffix = ".part"

// part is a file on its way. It has its own name once it is whole, and another before.
type part struct {
	dir, name string
	file      *os.File
	buffer    *bufio.Writer
	bytes     int64 // written
}

// openPart goes on with a file of which the first bytes are kept. It may have its own
// name already, where a run ended before the journal said so.
func openPart(dir, name string, keep int64) (*part, error) {
	whole := filepath.Join(dir, name)
	if keep > 0 {
		if _, err := os.Lstat(whole + partSuffix); errors.Is(err, fs.ErrNotExist) {
			if err := os.Rename(whole, whole+partSuffix); err != nil {
				return nil, fmt.Errorf("%w: %s, %d bytes written, is gone", ErrFiles, whole+partSuffix, keep)
			}
		}
	}
	f, err := os.OpenFile(whole+partSuffix, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	if err := cut(f, keep); err != nil {
		f.Close()
		return nil, err
	}
	return &part{dir: dir, name: name, file: f, buffer: bufio.NewWriterSize(f, 1<<20), bytes: keep}, nil
}

// cut leaves the first bytes of a file, and has what comes next written after them.
func cut(f *os.File, keep int64) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() < keep {
		return fmt.Errorf("%w: %s has %d bytes, and had %d when it was written", ErrFiles, f.Name(), info.Size(), keep)
	}
	if err := f.Truncate(keep); err != nil {
		return err
	}
	_, err = f.Seek(keep, 0)
	return err
}

func (p *part) Write(b []byte) (int, error) {
	n, err := p.buffer.Write(b)
	p.bytes += int64(n)
	return n, err
}

// sync forces what was written to the disk.
func (p *part) sync() error {
	if err := p.buffer.Flush(); err != nil {
		return err
	}
	return p.file.Sync()
}

// finish gives the file its name. It is on the disk then.
func (p *part) finish() error {
	if err := p.sync(); err != nil {
		return err
	}
	if err := p.file.Close(); err != nil {
		return err
	}
	whole := filepath.Join(p.dir, p.name)
	if err := os.Rename(whole+partSuffix, whole); err != nil {
		return err
	}
	return store.SyncFolder(p.dir)
}

// close lets go of a file that stays a part.
func (p *part) close() { p.file.Close() }

// replaceFile writes a file that is there as a whole, or as it was before.
func replaceFile(path string, content []byte) error {
	f, err := os.OpenFile(path+partSuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+partSuffix, path); err != nil {
		return err
	}
	return store.SyncFolder(filepath.Dir(path))
}

// remove removes a file that may be gone.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// trimPart is the name that a part is to have. What is made of a part is the part of
// one.
func trimPart(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(name, partSuffix), partSuffix)
}

// hasSize refuses a file that is not what the journal says.
func hasSize(path string, bytes int64) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFiles, err)
	}
	if info.Size() != bytes {
		return fmt.Errorf("%w: %s has %d bytes, and had %d when it was written", ErrFiles, path, info.Size(), bytes)
	}
	return nil
}
