package export

import (
	"fmt"
	"strings"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/npy"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// arrays writes one file a field: an array of all samples, or the texts, each as JSON
// in a line of its own, for a name may hold a line break.
type arrays struct {
	fields  []headrace.Field
	parts   []*part
	samples int64
	lines   []byte // of texts, on their way
}

func openNPY(o Options, fields []headrace.Field, written []File) (_ format, err error) {
	w := &arrays{fields: fields}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	for i, f := range fields {
		keep := int64(0)
		if len(written) > 0 {
			if len(written) != len(fields) || written[i].Name != npyName(f) || written[i].Samples != written[0].Samples {
				return nil, fmt.Errorf("%w: the journal names other files than those of the fields", ErrFiles)
			}
			keep, w.samples = written[i].Bytes, written[i].Samples
		}
		p, err := openPart(o.Dir, npyName(f), keep)
		if err != nil {
			return nil, err
		}
		w.parts = append(w.parts, p)
		if keep == 0 && f.Kind == sample.Tensor {
			p.Write(w.header(f, 0)) // whoever loads the part finds nothing
		}
	}
	return w, nil
}

func npyName(f headrace.Field) string {
	if f.Kind == sample.Text {
		return f.Name + ".jsonl"
	}
	return f.Name + ".npy"
}

func (w *arrays) header(f headrace.Field, rows int64) []byte {
	return npy.Write(f.DType, append(tensor.Shape{int(rows)}, f.Shape...))
}

func (w *arrays) write(columns []column, rows, _ int) error {
	for i, c := range columns {
		if w.fields[i].Kind == sample.Tensor {
			if _, err := w.parts[i].Write(c.data); err != nil {
				return err
			}
			continue
		}
		w.lines = w.lines[:0]
		for row := range rows {
			text := c.text.At(row)
			if isLists(w.fields[i]) {
				w.lines = append(w.lines, text...)
			} else {
				w.lines = appendText(w.lines, text)
			}
			w.lines = append(w.lines, '\n')
		}
		if _, err := w.parts[i].Write(w.lines); err != nil {
			return err
		}
	}
	w.samples += int64(rows)
	return nil
}

// otherwise are the bytes of texts that JSON has in another way.
var otherwise = func() (all [256]bool) {
	for c := range all {
		all[c] = c < ' ' || c > '~' || strings.IndexByte(`"\<>&`, byte(c)) >= 0
	}
	return all
}()

// appendText appends a text as JSON.
func appendText(dst, text []byte) []byte {
	for _, c := range text {
		if otherwise[c] {
			return append(dst, asJSON(recipe.Path(text))...)
		}
	}
	return append(append(append(dst, '"'), text...), '"')
}

func (w *arrays) due() bool { return false }

func (w *arrays) sync() ([]File, error) {
	var files []File
	for _, p := range w.parts {
		if err := p.sync(); err != nil {
			return nil, err
		}
		files = append(files, File{Name: p.name, Samples: w.samples, Bytes: p.bytes})
	}
	return files, nil
}

// finish writes the number of samples into the files, and gives them their names.
func (w *arrays) finish() ([]File, error) {
	files, err := w.sync()
	if err != nil {
		return nil, err
	}
	for i, f := range w.fields {
		if f.Kind == sample.Tensor {
			if _, err := w.parts[i].file.WriteAt(w.header(f, w.samples), 0); err != nil {
				return nil, err
			}
		}
		if err := w.parts[i].finish(); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func (w *arrays) noted() error { return nil }

func (w *arrays) describe(f headrace.Field) FieldFile {
	d := FieldFile{Name: f.Name, File: npyName(f)}
	if f.Kind == sample.Text {
		if d.Note = "a JSON string a line"; isLists(f) {
			d.Note = "a JSON list a line"
		}
		return d
	}
	d.DType, d.Shape = f.DType.String(), append(tensor.Shape{}, f.Shape...)
	d.Note = bfloat16Note(f)
	return d
}

func (w *arrays) close() {
	for _, p := range w.parts {
		p.close()
	}
}
