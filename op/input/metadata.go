package input

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/store"
)

// fileName is the column of a table that has the names of files: Hugging Face's
// imagefolder calls it so.
const fileName = "file_name"

// metadata is a table of what files have beside their content, while it is read.
type metadata struct {
	files *FileSet
	name  string // of the table, as messages have it
	rowOf []int64

	columns []shard.Column // those of fields, and then the names of files
	types   []sample.Type
	texts   [][]string // by column, if it is text
	numbers [][]byte   // otherwise
}

// readMetadata adds the columns of a table, whose rows it puts into the order of the
// files. The table itself is no sample.
func (f *FileSet) readMetadata(ctx context.Context, args *Files, o shard.Options) error {
	folder, err := store.Base(ctx, string(args.Root), string(args.Pattern))
	if err != nil {
		return err
	}
	name, err := store.Plain(under(folder, string(args.Metadata)))
	if err != nil {
		return fmt.Errorf("metadata: %w", err)
	}
	m := &metadata{files: f, name: name}
	if _, err := store.Stat(ctx, string(args.Root), m.name); err != nil && !errors.Is(err, store.ErrNotRegular) {
		return fmt.Errorf("metadata %q: %w: must be a csv, jsonl or parquet table in the folder of the files", m.name, cause(err))
	}
	o.Root, o.Replaces = string(args.Root), args.Errors == recipe.Replace
	set, err := shard.Open(ctx, []string{m.name}, o)
	if err != nil {
		return fmt.Errorf("metadata: %w", err)
	}
	defer set.Close()

	if i := slices.Index(f.keys(), store.Clean(m.name)); i >= 0 {
		if err := f.leaveOut(i); err != nil {
			return err
		}
	}
	reader, err := m.choose(ctx, set, args.Fields)
	if err != nil {
		return err
	}
	if err := m.read(ctx, set, reader); err != nil {
		return fmt.Errorf("metadata: %w", err)
	}
	m.fill(args.Fields)
	return nil
}

// cause returns the system's error about a file, without the file's name.
func cause(err error) error {
	if number := syscall.Errno(0); errors.As(err, &number) {
		return number
	}
	return err
}

// under is the path of a name in a folder.
func under(folder, name string) string {
	if _, _, ok := store.Scheme(name); ok || path.IsAbs(name) {
		return name
	}
	return store.Join(folder, name)
}

// keys are the paths of all files.
func (f *FileSet) keys() []string {
	all := make([]string, f.Table.Len())
	for i := range all {
		all[i] = store.Clean(f.Table.Key(i))
	}
	return all
}

// leaveOut takes a file off the list.
func (f *FileSet) leaveOut(out int) (err error) {
	f.Table, err = f.Table.Without(out)
	return err
}

// choose settles the columns that are fields, and their types.
func (m *metadata) choose(ctx context.Context, set *shard.Dataset, fields FieldsFrom) (*shard.Reader, error) {
	schema, err := set.Schema()
	if err != nil {
		return nil, err
	}
	if schema.Find(fileName) < 0 {
		return nil, fmt.Errorf("metadata: %s has no column %q with the names of the files, but %s",
			m.name, fileName, strings.Join(schema.Names(), ", "))
	}
	// If all columns are wanted, one that cannot be read is an error: its absence would
	// show in the model only.
	if fields == nil {
		gaps, err := gapsOf(set)
		if err != nil {
			return nil, err
		}
		var all FieldsFrom
		for _, f := range schema {
			if f.Name != fileName {
				all = append(all, FieldFrom{Name: f.Name, From: f.Name})
			}
		}
		if _, err := complete(all, gaps, set.Index().Compare(), false); err != nil {
			return nil, fmt.Errorf("metadata %s: %w", m.name, err)
		}
	}
	for _, f := range fields {
		m.columns = append(m.columns, f.Column())
	}
	for _, f := range schema {
		if fields == nil && f.Name != fileName {
			m.columns = append(m.columns, shard.Column{From: f.Name})
		}
	}
	m.columns = append(m.columns, shard.Column{From: fileName, Type: sample.TextType})

	reader, err := set.Select(ctx, m.columns...)
	if err != nil {
		return nil, err
	}
	m.types = reader.Types()
	for i, t := range m.types {
		if t.Kind != sample.Text && (t.Kind != sample.Tensor || len(t.Shape) > 0) {
			return nil, fmt.Errorf("metadata: the column %q of %s is %v, and a field beside files is "+
				"one number or text: name those that are read with fields=, or read it as text: fields={%q: [%q, \"text\"]}",
				m.columns[i].From, m.name, t, m.columns[i].From, m.columns[i].From)
		}
	}
	return reader, nil
}

// read reads all rows, and finds the file of each.
func (m *metadata) read(ctx context.Context, set *shard.Dataset, reader *shard.Reader) error {
	// Rows come in any order, and the samples are numbered as the files are listed.
	files := make(map[string]int, m.files.Table.Len())
	for i, key := range m.files.keys() {
		files[key] = i
	}
	m.rowOf = slices.Repeat([]int64{-1}, m.files.Table.Len())
	m.texts, m.numbers = make([][]string, len(m.types)), make([][]byte, len(m.types))

	var p shard.Place
	var buf []byte
	last := len(m.columns) - 1
	for row := range set.Len() {
		if err := reader.Locate(row, &p); err != nil {
			return err
		}
		buf = slices.Grow(buf[:0], int(p.Bytes))[:p.Bytes]
		values, _, err := reader.Read(ctx, &p, buf)
		if err != nil {
			return err
		}
		for k, v := range values[:last] {
			if m.types[k].Kind == sample.Text {
				m.texts[k] = append(m.texts[k], string(v.Bytes))
			} else {
				m.numbers[k] = append(m.numbers[k], v.Bytes...)
			}
		}

		name := string(values[last].Bytes)
		i, ok := files[under(store.Dir(m.name), name)]
		if !ok {
			return fmt.Errorf("row %d of %s is for the file %q, which is not among the %d files that are read: "+
				"remove the row, or add the file", row, m.name, name, m.files.Table.Len())
		}
		if m.rowOf[i] >= 0 {
			return fmt.Errorf("rows %d and %d of %s are both for the file %q: a file has one row", m.rowOf[i], row, m.name, name)
		}
		m.rowOf[i] = row
	}
	return m.complete(set.Len())
}

// complete tells which file has no row.
func (m *metadata) complete(rows int64) error {
	i := slices.Index(m.rowOf, -1)
	if i < 0 {
		return nil
	}
	return fmt.Errorf("%s has no row for the file %q (%d rows, %d files): add one, or read fewer files by a pattern",
		m.name, m.files.Table.Key(i), rows, len(m.rowOf))
}

// fill gives the files their columns.
func (m *metadata) fill(fields FieldsFrom) {
	for k, t := range m.types[:len(m.types)-1] {
		name := m.columns[k].From
		if fields != nil {
			name = fields[k].Name
		}
		if t.Kind == sample.Text {
			all := make([]string, len(m.rowOf))
			for i, row := range m.rowOf {
				all[i] = m.texts[k][row]
			}
			m.files.columns = append(m.files.columns, recipe.ListsOf(name, t.Shape, all))
			continue
		}
		size := int64(t.DType.Size())
		var all []byte
		for _, row := range m.rowOf {
			all = append(all, m.numbers[k][row*size:][:size]...)
		}
		m.files.columns = append(m.files.columns, recipe.NumbersOf(name, t.DType, all))
	}

	h := sha256.New()
	m.files.columns.Digest(h)
	m.files.digest = strconv.Itoa(len(m.rowOf)) + ":" + hex.EncodeToString(h.Sum(nil)[:8])
}

// gives returns the fields of a table of metadata.
func (f *FileSet) gives() (all sample.Schema) {
	for i := range f.columns {
		all = append(all, sample.Field{Name: f.columns[i].Name, Type: f.columns[i].Type()})
	}
	return all
}

// Digest implements [source.Digested]: it is that of the table of metadata.
func (f *FileSet) Digest() string { return f.digest }

// Changed implements [source.Digested].
func (f *FileSet) Changed(was string) error {
	if f.digest == was {
		return nil
	}
	return fmt.Errorf("%w: the metadata have changed", shard.ErrChanged)
}
