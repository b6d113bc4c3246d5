package input

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/internal/scratch"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/store"
)

// FileSet are the files of a step, which were listed.
type FileSet struct {
	Table   *store.Table
	Labels  []int64 // by index; nil: none
	most    int64   // bytes of a file; 0: any
	columns recipe.Columns
	digest  string // of the columns of a table; "": there is none

	unnamed, byFolder bool // labels: numbers without names, or those of folders

	closed                 bool            // samples have paths, and not what is in the files
	content, LabelAt, name record.Column   // content: or path
	beside                 []record.Column // of the columns

	firsts *firsts // for files of a store; nil: there are none
}

// Early implements [source.Input]: a table has the types of its fields.
func (f *Files) Early() bool { return f.Metadata != "" }

// Find implements [source.Input].
func (f *Files) Find(ctx context.Context, suffixes []string, o shard.Options) (source.Found, error) {
	l, err := list(ctx, f, suffixes, o)
	if err == nil && f.Metadata != "" {
		f.Gives.Schema = l.gives()
	}
	return l, err
}

// list lists the files of a step. Labels of folders are set when the files of all sources
// are known. The options are for reading its metadata.
func list(ctx context.Context, f *Files, suffixes []string, o shard.Options) (*FileSet, error) {
	var t *store.Table
	err := machine.Patiently(ctx, func() (err error) {
		t, err = table(ctx, f, suffixes)
		return err
	})
	if err != nil {
		return nil, err
	}
	l := &FileSet{Table: t, columns: f.Columns, closed: !f.Reads(), byFolder: f.Label == "parent"}
	l.unnamed = f.Pairs != nil || (f.Columns != nil || f.Metadata != "") && f.Label == ""
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
		return nil, fmt.Errorf("%w: %w", source.ErrSource, err)
	}
	all := make([]string, t.Len())
	for i := range all {
		all[i] = t.Key(i)
	}
	return all, nil
}

func table(ctx context.Context, f *Files, suffixes []string) (*store.Table, error) {
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

// Again implements [source.Found].
func (f *FileSet) Again() source.Contents {
	again := *f
	return &again
}

// Close implements [source.Found].
func (*FileSet) Close() {}

// Unnamed implements [source.Labelled].
func (f *FileSet) Unnamed() bool { return f.unnamed }

// ByFolder implements [source.Labelled].
func (f *FileSet) ByFolder() bool { return f.byFolder }

// Folder implements [source.Labelled].
func (f *FileSet) Folder(index int64) string { return f.Table.Parent(int(index)) }

// Label implements [source.Labelled].
func (f *FileSet) Label(folders map[string]int64) {
	f.Labels = make([]int64, f.Table.Len())
	for i := range f.Labels {
		f.Labels[i] = folders[f.Table.Parent(i)]
	}
}

// ValueOf returns the function to a field's value as text, which splits divide by; nil:
// it is none that is known before files are read. Folders have other numbers when some
// are added, so the folder's name stands for its label.
func (f *FileSet) ValueOf(field string) (value func(index int64) string, failed func() error) {
	never := func() error { return nil }
	if field == "label" && f.byFolder {
		return f.Folder, never
	}
	if field == "label" && f.Labels != nil {
		return func(index int64) string { return strconv.FormatInt(f.Labels[index], 10) }, never
	}
	for i := range f.columns {
		if c := &f.columns[i]; c.Name == field && len(c.Type().Shape) == 0 {
			return c.AsText, never
		}
	}
	return nil, nil
}

// Len implements [source.Contents].
func (f *FileSet) Len() int64 { return int64(f.Table.Len()) }

// Away implements [source.Away].
func (f *FileSet) Away() bool { return f.Table.Away() }

// Key implements [source.Contents]: it is the path, as it was given.
func (f *FileSet) Key(index int64) string { return f.Table.Key(int(index)) }

// Link implements [source.Contents].
func (f *FileSet) Link(_ *core.Env, _ *fuse.Source, _ sample.Schema, where *record.Columns) (*python.Function, error) {
	at := where.Of
	if f.Away() {
		f.firsts = new(firsts)
	}
	f.content, f.name = at["path"], at["key"]
	if !f.closed {
		f.content = at["bytes"]
	}
	if f.Labels != nil {
		f.LabelAt = at["label"]
	}
	f.beside = nil
	for i := range f.columns {
		f.beside = append(f.beside, at[f.columns[i].Name])
	}
	return nil, nil
}

// Fetch implements [source.Contents].
func (f *FileSet) Fetch(ctx context.Context, w *core.Env, it *record.Record) (int64, error) {
	n, err := source.Patiently(ctx, w, it, func() (int64, error) { return f.read(ctx, w, it) })
	if err != nil && f.PlaceGone(ctx, it.ID.Index, err) {
		err = machine.ShortPlace(err)
	}
	if errors.Is(err, store.ErrChanged) {
		err = pipe.Fatal(err) // the data are others, not one sample of them
	}
	return n, err
}

// Size implements [source.Sized]. Steps that open files by their paths read any part of
// them, and other machines are not asked.
func (f *FileSet) Size(index int64) (bytes int64, known bool) {
	path := f.Table.Path(int(index))
	if _, _, away := store.Scheme(path); f.closed || away {
		return 0, false
	}
	o, err := store.Stat(context.Background(), "", path)
	return o.Size, err == nil
}

func (f *FileSet) read(ctx context.Context, w *core.Env, it *record.Record) (int64, error) {
	var first []byte
	if !f.closed && f.firsts != nil {
		memory := f.firsts.take()
		defer f.firsts.give(memory)
		first = *memory
	}
	file, err := store.OpenToRead(ctx, f.Table.Path(int(it.ID.Index)), f.most, first)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	if !file.IsLocal() {
		if err := f.Table.Check(int(it.ID.Index), file.Object()); err != nil {
			return 0, err
		}
	}
	if first != nil {
		f.firsts.saw(file.Size())
	}
	if f.closed {
		if !file.IsLocal() {
			found := file
			it.Found = &found
		}
		f.describe(w, w.Blank(it), it)
		return 0, nil
	}

	lane, of := it.Lane()
	if it.Content, err = lane.Acquire(ctx, w.Age(of), core.ForFiles, file.Size()); err != nil {
		return 0, err
	}
	// A read that exceeds its limit is abandoned; other samples must not wait for it.
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
	f.describe(w, v, it)
	return n, nil
}

// describe sets all fields but the content of the file.
func (f *FileSet) describe(w *core.Env, v *record.Values, it *record.Record) {
	if f.closed {
		v.Texts[f.content.At] = f.Table.Path(int(it.ID.Index))
	}
	v.Texts[f.name.At] = it.Key
	if f.LabelAt.Kind == record.Numbers {
		binary.NativeEndian.PutUint64(v.Numbers[f.LabelAt.At:], uint64(f.Labels[it.ID.Index]))
	}
	for i, at := range f.beside {
		switch at.Kind {
		case record.Texts:
			v.Texts[at.At] = f.columns[i].Text(int(it.ID.Index))
		case record.Arrays: // later steps may change it
			c, n := &f.columns[i], int(it.ID.Index)
			v.Arrays[at.At] = record.Array{Shape: c.Shape(n), Data: w.Copied(v, c.Number(n))}
		default:
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
