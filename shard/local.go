package shard

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"headrace/store"
)

// local is a shard on this machine.
type local struct {
	store.File
	path, name string

	mu     sync.Mutex
	beside []*local
}

// openLocal opens a shard, which messages call by a name.
func openLocal(path, name string) (*local, error) {
	f, err := store.Local{}.Open(path)
	if err != nil {
		return nil, err
	}
	return &local{File: f, path: path, name: name}, nil
}

// Name implements [File].
func (l *local) Name() string { return l.name }

// Beside implements [File].
func (l *local) Beside(name string) (File, error) {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, `/\`) {
		return nil, fmt.Errorf("%w: %q is no name of a file beside %s", os.ErrInvalid, name, l.name)
	}
	other, err := openLocal(filepath.Join(filepath.Dir(l.path), name), filepath.Join(filepath.Dir(l.name), name))
	if err != nil {
		return nil, err // not other, which would be a File that is nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.beside = append(l.beside, other)
	return other, nil
}

// Close closes the shard, and what was opened beside it.
func (l *local) Close() {
	for _, other := range l.beside {
		other.Close()
	}
	l.File.Close()
}
