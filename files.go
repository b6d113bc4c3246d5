package headrace

import (
	"context"
	"encoding/binary"
	"fmt"
	"headrace/internal/ops"
	"math"
	"slices"

	"headrace/internal/machine"
	"headrace/internal/record"
	"headrace/internal/scratch"
	"headrace/recipe"
	"headrace/recipe/fuse"
	"headrace/store"
)

// files are contents that lie in files.
type files struct {
	store   store.Local
	table   *store.Table
	labels  []int64 // by index; nil: none
	columns recipe.Columns

	bytes, label, name record.Column
	beside             []record.Column // of the columns
}

// listFiles finds the files of a recipe's step. Their labels, where folders give them, are set when those of all sources are known.
func listFiles(ctx context.Context, f recipe.Files, suffixes []string) (*files, error) {
	var t *store.Table
	err := machine.Patiently(ctx, func() (err error) {
		t, err = table(ctx, f, suffixes)
		return err
	})
	if err != nil {
		return nil, err
	}
	l := &files{store: store.Local{MaxBytes: f.MaxBytes}, table: t, columns: f.Columns}
	if f.Pairs != nil {
		l.labels = make([]int64, len(f.Pairs))
		for i, pair := range f.Pairs {
			l.labels[i] = pair.Label
		}
	}
	return l, nil
}

// List returns the names of the files that the operation files reads by a pattern or a folder of images, in their order.
func List(ctx context.Context, root, pattern string) ([]string, error) {
	t, err := store.List(ctx, root, pattern, imageSuffixes)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	all := make([]string, t.Len())
	for i := range all {
		all[i] = t.Key(i)
	}
	return all, nil
}

func table(ctx context.Context, f recipe.Files, suffixes []string) (*store.Table, error) {
	switch {
	case f.Pattern != "":
		return store.List(ctx, string(f.Root), string(f.Pattern), suffixes)
	case f.Pairs != nil:
		return store.Files(string(f.Root), func(yield func(string) bool) {
			for _, p := range f.Pairs {
				if !yield(string(p.Path)) {
					return
				}
			}
		})
	default:
		return store.Files(string(f.Root), func(yield func(string) bool) {
			for _, p := range f.Paths {
				if !yield(string(p)) {
					return
				}
			}
		})
	}
}

// len implements contents.
func (f *files) len() int64 { return int64(f.table.Len()) }

// key implements contents: it is the path, as it was given.
func (f *files) key(index int64) string { return f.table.Key(int(index)) }

// link implements contents.
func (f *files) Link(c *compiler, _ *stage, _ *fuse.Source) error {
	at := c.trail.places.Of
	f.bytes, f.name = at["bytes"], at["key"]
	if f.labels != nil {
		f.label = at["label"]
	}
	f.beside = nil
	for i := range f.columns {
		f.beside = append(f.beside, at[f.columns[i].Name])
	}
	return nil
}

// fetch implements contents.
func (f *files) fetch(ctx context.Context, w *ops.Env, it *record.Record) (int64, error) {
	n, err := patiently(ctx, w, it, func() (int64, error) { return f.read(ctx, w, it) })
	if err != nil && f.placeGone(it.ID.Index, err) {
		err = machine.ShortPlace(err)
	}
	return n, err
}

func (f *files) read(ctx context.Context, w *ops.Env, it *record.Record) (int64, error) {
	file, err := f.store.Open(f.table.Path(int(it.ID.Index)))
	if err != nil {
		return 0, err
	}
	defer file.Close()
	if it.Content, err = it.Source.Lane.Acquire(ctx, w.Age(it.ID), ops.ForFiles, file.Size()); err != nil {
		return 0, err
	}
	if it.Limited {
		defer context.AfterFunc(ctx, it.Content.Park)()
	}
	v := w.Blank(it)
	buffer := v.Borrow(&w.Files, fileRoom(w, file))
	content, err := file.Read(*buffer)
	if err != nil {
		return 0, err
	}
	w.Files.Moved(buffer, content)
	n := int64(len(*buffer))
	it.Content.Resize(n) // the file may have grown
	v.Bytes[f.bytes.At] = slices.Clip(*buffer)
	v.Texts[f.name.At] = it.Key
	if f.label.Kind == record.Numbers {
		binary.NativeEndian.PutUint64(v.Numbers[f.label.At:], uint64(f.labels[it.ID.Index]))
	}
	for i, at := range f.beside {
		if at.Kind == record.Texts {
			v.Texts[at.At] = f.columns[i].Text(int(it.ID.Index))
		} else {
			copy(v.Numbers[at.At:], f.columns[i].Number(int(it.ID.Index)))
		}
	}
	return n, nil
}

// fileRoom returns how much memory to take for a file. The memory of a small one grows while it is
// read; what a large one takes must not wait for the garbage collector, so it is not Go's.
func fileRoom(w *ops.Env, f store.File) int {
	if w.Shared != nil {
		return int(f.Size()) + 1
	}
	if n := f.Room(0, math.MaxInt64); n > scratch.Keep {
		return n
	}
	return 0
}
