package source

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/internal/scratch"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/store"
)

// Files are contents that are in files.
type Files struct {
	Table   *store.Table
	Labels  []int64 // by index; nil: none
	most    int64   // bytes of a file; 0: any
	columns recipe.Columns
	digest  string // of the columns of a table; "": there is none

	closed               bool            // samples have paths, and not what is in the files
	content, Label, name record.Column   // content: or path
	beside               []record.Column // of the columns
}

// newFiles finds the files of a recipe's step. Their labels, where folders give them, are
// set when those of all sources are known. The options are for reading its metadata.
func newFiles(ctx context.Context, f input.Files, suffixes []string, o shard.Options) (*Files, error) {
	var t *store.Table
	err := machine.Patiently(ctx, func() (err error) {
		t, err = table(ctx, f, suffixes)
		return err
	})
	if err != nil {
		return nil, err
	}
	l := &Files{Table: t, columns: f.Columns, closed: !f.Reads()}
	if f.Metadata != "" {
		if err := l.readMetadata(ctx, f, o); err != nil {
			return nil, err
		}
	}
	if !l.closed {
		l.most = f.MaxBytes
	}
	if f.Pairs != nil {
		l.Labels = make([]int64, len(f.Pairs))
		for i, pair := range f.Pairs {
			l.Labels[i] = pair.Label
		}
	}
	return l, nil
}

// List returns the names of the files that the operation files reads by a pattern or a
// folder of images, in their order.
func List(ctx context.Context, root, pattern string) ([]string, error) {
	t, err := store.List(ctx, root, pattern, media.Suffixes())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	all := make([]string, t.Len())
	for i := range all {
		all[i] = t.Key(i)
	}
	return all, nil
}

func table(ctx context.Context, f input.Files, suffixes []string) (*store.Table, error) {
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

// Len implements contents.
func (f *Files) Len() int64 { return int64(f.Table.Len()) }

// Key implements contents: it is the path, as it was given.
func (f *Files) Key(index int64) string { return f.Table.Key(int(index)) }

// Link implements contents.
func (f *Files) Link(_ *core.Env, _ *fuse.Source, _ sample.Schema, where *record.Columns) (*python.Function, error) {
	at := where.Of
	f.content, f.name = at["path"], at["key"]
	if !f.closed {
		f.content = at["bytes"]
	}
	if f.Labels != nil {
		f.Label = at["label"]
	}
	f.beside = nil
	for i := range f.columns {
		f.beside = append(f.beside, at[f.columns[i].Name])
	}
	return nil, nil
}

// Fetch implements contents.
func (f *Files) Fetch(ctx context.Context, w *core.Env, it *record.Record) (int64, error) {
	n, err := Patiently(ctx, w, it, func() (int64, error) { return f.read(ctx, w, it) })
	if err != nil && f.PlaceGone(ctx, it.ID.Index, err) {
		err = machine.ShortPlace(err)
	}
	return n, err
}

func (f *Files) read(ctx context.Context, w *core.Env, it *record.Record) (int64, error) {
	file, err := store.Open(ctx, f.Table.Path(int(it.ID.Index)), f.most)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	if f.closed {
		f.describe(w.Blank(it), it)
		return 0, nil
	}

	if it.Content, err = it.Source.Lane.Acquire(ctx, w.Age(it.ID), core.ForFiles, file.Size()); err != nil {
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
	v.Bytes[f.content.At] = slices.Clip(*buffer)
	f.describe(v, it)
	return n, nil
}

// describe sets all fields but the content of the file.
func (f *Files) describe(v *record.Values, it *record.Record) {
	if f.closed {
		v.Texts[f.content.At] = f.Table.Path(int(it.ID.Index))
	}
	v.Texts[f.name.At] = it.Key
	if f.Label.Kind == record.Numbers {
		binary.NativeEndian.PutUint64(v.Numbers[f.Label.At:], uint64(f.Labels[it.ID.Index]))
	}
	for i, at := range f.beside {
		if at.Kind == record.Texts {
			v.Texts[at.At] = f.columns[i].Text(int(it.ID.Index))
		} else {
			copy(v.Numbers[at.At:], f.columns[i].Number(int(it.ID.Index)))
		}
	}
}

// fileRoom returns how much memory to take for a file. The memory of a small one grows
// while it is read; what a large one takes must not wait for the garbage collector, so it
// is not Go's.
func fileRoom(w *core.Env, f store.File) int {
	if w.Shared != nil {
		return int(f.Size()) + 1
	}
	if n := f.Room(0, math.MaxInt64); n > scratch.Keep {
		return n
	}
	return 0
}

// suffixes are those of the files that a folder is listed for: arrays, recordings and
// videos, where the recipe reads any, and images, unless it decodes none.
func suffixes(r recipe.Recipe) (all []string) {
	found := map[string][]string{}
	for _, s := range r.All() {
		if t := recipe.TraitsOf(s.Args); t.Suffixes != nil {
			found[t.Content] = t.Suffixes
		}
	}
	for _, content := range [...]string{"array", "audio", "video", "image"} {
		all = append(all, found[content]...)
	}
	if all == nil {
		return media.Suffixes()
	}
	return all
}

// ErrSource marks data that cannot be listed.
var ErrSource = errors.New("headrace: source")
