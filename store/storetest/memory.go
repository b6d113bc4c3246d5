package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/headrace/headrace/store"
)

// Memory is a store in memory. The version of an object is the sum of its content.
type Memory struct {
	mu      sync.Mutex
	objects map[string][]byte
	reads   int64
}

// Set makes an object, or replaces it.
func (m *Memory) Set(name string, content []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.set(name, content)
}

func (m *Memory) set(name string, content []byte) {
	if m.objects == nil {
		m.objects = map[string][]byte{}
	}
	m.objects[name] = slices.Clone(content)
}

// Begin implements [store.Beginning].
func (m *Memory) Begin(ctx context.Context, name string, first []byte) (store.Object, int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, err := m.stat(name)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return store.Object{}, 0, err
	}
	return o, copy(first, m.objects[name]), nil
}

// Put implements [store.Writer].
func (m *Memory) Put(ctx context.Context, name string, content io.ReaderAt, size int64, c store.Condition) (store.Object, error) {
	all := make([]byte, size)
	if n, err := content.ReadAt(all, 0); int64(n) < size {
		return store.Object{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return store.Object{}, err
	}
	if err := c.Check(m.stat(name)); err != nil {
		return store.Object{}, err
	}
	m.set(name, all)
	return m.stat(name)
}

// Remove implements [store.Writer].
func (m *Memory) Remove(ctx context.Context, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, err := m.stat(name)
	delete(m.objects, name)
	return err
}

// PutAll makes objects of the files of a folder, with a prefix before their names.
func (m *Memory) PutAll(prefix string, from fs.FS) error {
	return fs.WalkDir(from, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := fs.ReadFile(from, name)
		if err == nil {
			m.Set(prefix+name, content)
		}
		return err
	})
}

// Read is how many bytes were read so far.
func (m *Memory) Read() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.reads
}

// Objects implements [store.Store].
func (m *Memory) Objects(ctx context.Context, prefix string) iter.Seq2[store.Object, error] {
	return m.ObjectsAfter(ctx, prefix, "")
}

// ObjectsAfter implements [store.Ranged].
func (m *Memory) ObjectsAfter(ctx context.Context, prefix, after string) iter.Seq2[store.Object, error] {
	return func(yield func(store.Object, error) bool) {
		m.mu.Lock()
		names := slices.Sorted(maps.Keys(m.objects))
		m.mu.Unlock()
		for _, name := range names {
			if !strings.HasPrefix(name, prefix) || name <= after {
				continue
			}
			if o, err := m.Stat(ctx, name); !yield(o, err) {
				return
			}
		}
	}
}

// Stat implements [store.Store].
func (m *Memory) Stat(ctx context.Context, name string) (store.Object, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, err := m.stat(name)
	if err == nil {
		err = ctx.Err()
	}
	return o, err
}

func (m *Memory) stat(name string) (store.Object, error) {
	content, ok := m.objects[name]
	if !ok {
		return store.Object{}, fmt.Errorf("storetest: %q: %w", name, fs.ErrNotExist)
	}
	sum := sha256.Sum256(content)
	return store.Object{Name: name, Size: int64(len(content)), Version: hex.EncodeToString(sum[:8])}, nil
}

// ReadAt implements [store.Store].
func (m *Memory) ReadAt(ctx context.Context, o store.Object, p []byte, at int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now, err := m.stat(o.Name)
	if err != nil {
		return err
	}
	if now != o {
		return fmt.Errorf("%w: %q", store.ErrChanged, o.Name)
	}
	n := copy(p, m.objects[o.Name][min(at, o.Size):])
	m.reads += int64(n)
	if n < len(p) {
		return io.ErrUnexpectedEOF
	}
	return ctx.Err()
}
