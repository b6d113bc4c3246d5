package export

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"strconv"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

func init() {
	kinds["tfrecord"] = kind{suffix: ".tfrecord", images: []string{"png", "jpg", "webp"}, open: openTFRecord}
}

// examples are records of tf.train.Example: text and images are lists of bytes, whole
// numbers and truth values of int64, others of float32. Arrays are lists in the order of
// their elements; those of which not all have one shape have it beside them.
type examples struct {
	fields   []headrace.Field
	pictures map[int]encoder
}

func openTFRecord(o Options, run Run) (records, error) {
	w := &examples{run.Info.Fields, map[int]encoder{}}
	for i, f := range w.fields {
		if err := noLists(f, "tfrecord"); err != nil {
			return nil, err
		}
		switch {
		case f.DType == tensor.Uint64 && f.Kind == sample.Tensor:
			return nil, fmt.Errorf("%w: --out tfrecord: %s is uint64, and TensorFlow's records have int64: "+
				"make another type of it", ErrOptions, f.Name)
		case isPicture(f):
			e, err := pictureEncoder(f, o)
			if err != nil {
				return nil, err
			}
			w.pictures[i] = e
		}
	}
	return w, nil
}

// The numbers of fields of the messages, of which each is a list of the next.
const (
	exampleFeatures, featuresFeature = 1, 1
	entryKey, entryValue             = 1, 2
	bytesList, floatList, int64List  = 1, 2, 3
	listValue                        = 1
)

func (w *examples) encode(block *bytes.Buffer, scratch []byte, columns []column, row int, _ int64, _ int) ([]byte, error) {
	var features, list []byte
	for i, f := range w.fields {
		c, kind := columns[i], bytesList
		picture, is := w.pictures[i]
		switch {
		case f.Kind == sample.Text:
			list = appendMessage(list[:0], listValue, c.text.At(row))
		case is:
			var err error
			if scratch, err = picture.encode(scratch[:0], c, row); err != nil {
				return nil, fmt.Errorf("%s: %w", f.Name, err)
			}
			list = appendMessage(list[:0], listValue, scratch)
		default:
			scratch, kind = appendNumbers(scratch[:0], f.DType, c.row(row))
			list = appendMessage(list[:0], listValue, scratch)
		}
		features = appendFeature(features, f.Name, kind, list)

		// Features are flat lists, so a shape that varies is a feature of its own.
		if f.Kind == sample.Tensor && !is && !f.Shape.Fixed() {
			scratch = scratch[:0]
			for _, n := range c.shape {
				scratch = binary.AppendUvarint(scratch, uint64(n))
			}
			features = appendFeature(features, f.Name+"/shape", int64List, appendMessage(list[:0], listValue, scratch))
		}
	}

	record := appendMessage(scratch[:0], exampleFeatures, features)
	block.Reset()
	frame := binary.LittleEndian.AppendUint64(nil, uint64(len(record)))
	block.Write(binary.LittleEndian.AppendUint32(frame, maskedSum(frame)))
	block.Write(record)
	block.Write(binary.LittleEndian.AppendUint32(nil, maskedSum(record)))
	return record, nil
}

func appendFeature(dst []byte, name string, kind int, list []byte) []byte {
	entry := appendMessage(nil, entryKey, []byte(name))
	entry = appendMessage(entry, entryValue, appendMessage(nil, kind, list))
	return appendMessage(dst, featuresFeature, entry)
}

// appendMessage writes a field of protocol buffers that has a length.
func appendMessage(dst []byte, field int, content []byte) []byte {
	dst = append(dst, byte(field<<3|2))
	return append(binary.AppendUvarint(dst, uint64(len(content))), content...)
}

// appendNumbers writes the elements of an array, packed, and says of which list they are.
func appendNumbers(dst []byte, d tensor.DType, data []byte) ([]byte, int) {
	kind := floatList
	for ; len(data) > 0; data = data[d.Size():] {
		text, whole := integer(d, data)
		switch {
		case whole:
			v, _ := strconv.ParseInt(text, 10, 64)
			dst, kind = binary.AppendUvarint(dst, uint64(v)), int64List
		case d == tensor.Bool:
			dst, kind = append(dst, data[0]), int64List
		default:
			v, _ := realNumber(d, data)
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(v)))
		}
	}
	return dst, kind
}

// maskedSum is the checksum of records, which TensorFlow changes so that that of what
// has checksums in it is no other's.
func maskedSum(b []byte) uint32 {
	sum := crc32.Checksum(b, castagnoli)
	return sum>>15 | sum<<17 + 0xa282ead8
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (w *examples) describe(i int, f headrace.Field) FieldFile {
	d := FieldFile{Name: f.Name, DType: dtypeName(f), Shape: shapeOf(f), Note: w.pictures[i].suffix}
	if f.Kind == sample.Tensor && f.DType == tensor.Float64 {
		d.Note = "as float32, which is what TensorFlow's records have"
	}
	return d
}
