package export

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/numbers"
	"github.com/headrace/headrace/internal/parquet"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

func init() {
	kinds["parquet"] = kind{suffix: ".parquet", images: []string{"png", "npy", "jpg", "webp"}, open: openParquet}
}

// tables are Parquet files. Numbers and text are columns; pictures are groups of bytes
// and path, as Hugging Face's datasets have them; other arrays are bytes, each an .npy
// file.
type tables struct {
	run      Run
	part     string // what names of samples begin with
	key      int
	columns  []parquet.Column
	encoders []encoder // by field; those of numbers are not used
	plain    bool      // all fields are numbers and text
	notes    [][2]string
}

func openParquet(o Options, run Run) (records, error) {
	w := &tables{run: run, part: o.Part.prefix(), key: keyOf(run.Info.Fields), plain: true}
	features := map[string]any{}
	for _, f := range run.Info.Fields {
		e, err := newEncoder(f, o)
		if err == nil {
			err = noLists(f, "parquet")
		}
		if err != nil {
			return nil, err
		}
		w.encoders = append(w.encoders, e)
		column := func(t parquet.Type, path ...string) {
			w.columns = append(w.columns, parquet.Column{Path: append([]string{f.Name}, path...), Type: t})
		}
		switch t, number := parquetType(f); {
		case number:
			column(t)
			features[f.Name] = map[string]any{"_type": "Value", "dtype": huggingFaceType(f)}
			if f.Name == "label" && run.Info.Classes != nil {
				features[f.Name] = map[string]any{"_type": "ClassLabel", "names": run.Info.Classes}
			}
		case f.Kind == sample.Text:
			column(parquet.Text)
			features[f.Name] = map[string]any{"_type": "Value", "dtype": "string"}
		case e.picture:
			w.plain = false
			column(parquet.Bytes, "bytes")
			column(parquet.Text, "path")
			features[f.Name] = map[string]any{"_type": "Image"}
		default:
			w.plain = false
			column(parquet.Bytes)
			features[f.Name] = map[string]any{"_type": "Value", "dtype": "binary"}
		}
	}
	// From this note Hugging Face's datasets knows images and classes; for others they
	// are bytes and numbers.
	note, err := json.Marshal(map[string]any{"info": map[string]any{"features": features}})
	w.notes = [][2]string{{"huggingface", string(note)}}
	return w, err
}

// parquetType returns the type of a field of one number a sample.
func parquetType(f headrace.Field) (t parquet.Type, number bool) {
	if f.Kind != sample.Tensor || len(f.Shape) > 0 {
		return t, false
	}
	t, number = map[tensor.DType]parquet.Type{
		tensor.Bool: parquet.Bool, tensor.Int8: parquet.Int8, tensor.Int16: parquet.Int16,
		tensor.Int32: parquet.Int32, tensor.Int64: parquet.Int64,
		tensor.Uint8: parquet.Uint8, tensor.Uint16: parquet.Uint16, tensor.Uint32: parquet.Uint32, tensor.Uint64: parquet.Uint64,
		tensor.Float16: parquet.Float32, tensor.BFloat16: parquet.Float32, tensor.Float32: parquet.Float32, tensor.Float64: parquet.Float64,
	}[f.DType]
	return t, number
}

func huggingFaceType(f headrace.Field) string {
	switch f.DType {
	case tensor.Float16, tensor.BFloat16:
		return "float32"
	}
	return f.DType.String()
}

// encode writes the values of a sample's columns, each after its length.
func (w *tables) encode(block *bytes.Buffer, scratch []byte, columns []column, row int, number int64, epoch int) (_ []byte, err error) {
	block.Reset()
	put := func(b []byte) {
		block.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(b))))
		block.Write(b)
	}
	for i, f := range w.run.Info.Fields {
		if _, is := parquetType(f); is {
			scratch = appendPlain(scratch[:0], f.DType, columns[i].row(row))
		} else if scratch, err = w.encoders[i].encode(scratch[:0], columns[i], row); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		put(scratch)
		if w.encoders[i].picture {
			key := ""
			if w.key >= 0 {
				key = columns[w.key].textAt(row)
			}
			put([]byte(w.part + stem(key, number, epoch, w.run.Epochs > 1) + "." + w.encoders[i].suffix))
		}
	}
	return scratch, nil
}

// appendPlain writes a number as Parquet's PLAIN has it.
func appendPlain(dst []byte, d tensor.DType, b []byte) []byte {
	order := binary.LittleEndian
	switch n, whole := numbers.Whole(d, b); {
	case whole && d.Size() < 4:
		return order.AppendUint32(dst, uint32(n))
	case d == tensor.Float16:
		return order.AppendUint32(dst, math.Float32bits(tensor.FromFloat16(order.Uint16(b))))
	case d == tensor.BFloat16:
		return order.AppendUint32(dst, uint32(order.Uint16(b))<<16)
	}
	return append(dst, b[:d.Size()]...)
}

func (w *tables) convert(blocks io.Reader, samples int64, shard, _ io.Writer) error {
	to := parquet.NewWriter(shard, w.columns, w.notes...)
	if w.plain {
		if err := eachBlock(blocks, samples, len(w.columns), to.AddRows); err != nil {
			return err
		}
		return to.Close()
	}
	values := make([][]byte, len(w.columns))
	var length [4]byte
	for range samples {
		for i := range values {
			if _, err := io.ReadFull(blocks, length[:]); err != nil {
				return err
			}
			n := int(binary.LittleEndian.Uint32(length[:]))
			values[i] = slices.Grow(values[i][:0], n)[:n]
			if _, err := io.ReadFull(blocks, values[i]); err != nil {
				return err
			}
		}
		if err := to.Add(values); err != nil {
			return err
		}
	}
	return to.Close()
}

func (w *tables) describe(i int, f headrace.Field) FieldFile {
	d := FieldFile{Name: f.Name, DType: dtypeName(f), Shape: shapeOf(f)}
	_, number := parquetType(f)
	switch {
	case number && huggingFaceType(f) != f.DType.String():
		d.Note = "as float32"
	case w.encoders[i].picture:
		d.Note = w.encoders[i].suffix + " in " + f.Name + ".bytes"
	case !number && f.Kind == sample.Tensor:
		d.Note = "each value is an .npy file"
	}
	return d
}
