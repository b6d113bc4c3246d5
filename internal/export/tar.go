package export

import (
	"archive/tar"
	"bytes"
	"fmt"
	"slices"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/sample"
)

func init() {
	kinds["tar"] = kind{suffix: ".tar", images: []string{"npy", "png", "jpg", "webp"}, end: tarTrailer, open: openTar}
}

// tarTrailer ends an archive.
var tarTrailer = make([]byte, 1024)

// archives are in the convention of WebDataset.
type archives struct {
	epochs   bool   // more than one
	part     string // what names of samples begin with
	key      int    // the field that names samples; negative: none
	fields   []headrace.Field
	encoders []encoder
}

func openTar(o Options, run Run) (records, error) {
	w := &archives{epochs: run.Epochs > 1, part: o.Part.prefix(), fields: run.Info.Fields, key: keyOf(run.Info.Fields)}
	for _, f := range w.fields {
		e, err := newEncoder(f, o)
		if err != nil {
			return nil, err
		}
		w.encoders = append(w.encoders, e)
	}
	return w, nil
}

// keyOf is the field that names samples; negative: there is none.
func keyOf(fields []headrace.Field) int {
	return slices.IndexFunc(fields, func(f headrace.Field) bool { return f.Name == "key" && f.Kind == sample.Text })
}

// encode makes the files of a sample.
func (w *archives) encode(block *bytes.Buffer, scratch []byte, columns []column, row int, number int64, epoch int) (_ []byte, err error) {
	key := ""
	if w.key >= 0 {
		key = columns[w.key].textAt(row)
	}
	name := w.part + stem(key, number, epoch, w.epochs)
	block.Reset()
	archive := tar.NewWriter(block)
	for i, e := range w.encoders {
		if scratch, err = e.encode(scratch[:0], columns[i], row); err != nil {
			return nil, fmt.Errorf("%s of %q: %w", w.fields[i].Name, key, err)
		}
		header := tar.Header{Typeflag: tar.TypeReg, Name: name + "." + e.suffix, Size: int64(len(scratch)), Mode: 0o644}
		if err := archive.WriteHeader(&header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(scratch); err != nil {
			return nil, err
		}
	}
	return scratch, archive.Flush()
}

func (w *archives) describe(i int, f headrace.Field) FieldFile {
	return FieldFile{Name: f.Name, Suffix: w.encoders[i].suffix, DType: dtypeName(f), Shape: shapeOf(f), Note: w.encoders[i].note}
}
