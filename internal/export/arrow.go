package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/arrowfile"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

func init() {
	kinds["arrow"] = kind{suffix: ".arrow", open: openArrow}
}

// feathers are Arrow files: numbers and text are columns, arrays lists of a fixed size.
type feathers struct {
	fields  []headrace.Field
	columns []arrowfile.Column
	notes   [][2]string
}

func openArrow(_ Options, run Run) (records, error) {
	w := &feathers{fields: run.Info.Fields}
	for _, f := range w.fields {
		if err := noLists(f, "arrow"); err != nil {
			return nil, err
		}
		c := arrowfile.Column{Name: f.Name}
		if f.Kind == sample.Tensor {
			if c.DType, c.Shape = f.DType, f.Shape; !f.Shape.Fixed() {
				return nil, fmt.Errorf("%w: --out arrow: %s is %v %v: must have one shape in all samples; tar can hold it",
					ErrOptions, f.Name, f.DType, f.Shape)
			}
			if f.DType == tensor.BFloat16 { // which Arrow does not have
				c.DType = tensor.Float32
			}
		}
		w.columns = append(w.columns, c)
	}

	if classes := run.Info.Classes; classes != nil {
		names, err := json.Marshal(classes)
		if err != nil {
			return nil, err
		}
		w.notes = append(w.notes, [2]string{"classes", string(names)})
	}
	return w, nil
}

// byColumns implements columnar.
func (w *feathers) byColumns() bool { return true }

// encode implements records.
func (w *feathers) encode(block *bytes.Buffer, scratch []byte, columns []column, row int, _ int64, _ int) ([]byte, error) {
	block.Reset()
	w.encodeRows(block, columns, row, 1)
	return scratch, nil
}

// size returns the bytes of a value in a block; 0: each text has its own.
func (w *feathers) size(i int, c *column) int64 {
	switch {
	case w.fields[i].Kind == sample.Text:
		return 0
	case w.fields[i].DType == tensor.BFloat16:
		return 2 * int64(c.rowBytes)
	}
	return int64(c.rowBytes)
}

// fits implements columnar.
func (w *feathers) fits(columns []column, from, rows int, room int64) int {
	return fitting(columns, from, rows, room, func(i int) int64 { return w.size(i, &columns[i]) })
}

// encodeRows implements columnar.
func (w *feathers) encodeRows(block *bytes.Buffer, columns []column, from, rows int) {
	encodeColumns(block, columns, from, rows, func(b []byte, i int) []byte {
		c := &columns[i]
		if w.fields[i].DType != tensor.BFloat16 {
			return append(b, c.data[from*c.rowBytes:(from+rows)*c.rowBytes]...)
		}
		for data := c.data[from*c.rowBytes : (from+rows)*c.rowBytes]; len(data) > 0; data = data[2:] {
			b = append(b, 0, 0, data[0], data[1])
		}
		return b
	})
}

// convert implements converter.
func (w *feathers) convert(blocks io.Reader, samples int64, shard, _ io.Writer) error {
	to := arrowfile.NewWriter(shard, w.columns, w.notes...)
	if err := eachBlock(blocks, samples, len(w.columns), to.AddRows); err != nil {
		return err
	}
	return to.Close()
}

func (w *feathers) describe(_ int, f headrace.Field) FieldFile {
	d := FieldFile{Name: f.Name, DType: dtypeName(f), Shape: shapeOf(f)}
	if f.DType == tensor.BFloat16 {
		d.Note = "as float32"
	}
	return d
}
