package export

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

func init() { kinds["bin"] = kind{suffix: ".bin", beside: ".idx", open: openMegatron} }

// sequences are Megatron's: tokens one after the other in .bin, and in .idx how many each
// document has.
type sequences struct {
	field int // that has the tokens
	code  byte
	size  int // of a token
}

// megatronTypes are the codes of .idx.
var megatronTypes = map[tensor.DType]byte{tensor.Uint8: 1, tensor.Int8: 2, tensor.Int16: 3,
	tensor.Int32: 4, tensor.Int64: 5, tensor.Uint16: 8}

func openMegatron(_ Options, run Run) (records, error) {
	w := &sequences{field: -1}
	for i, f := range run.Info.Fields {
		switch {
		case f.Name == "key":
			continue
		case w.field >= 0:
			return nil, fmt.Errorf("%w: --out bin writes one field of tokens, and there are %s and %s: leave one out",
				ErrOptions, run.Info.Fields[w.field].Name, f.Name)
		case f.Kind != sample.Tensor || len(f.Shape) != 1 || megatronTypes[f.DType] == 0:
			return nil, fmt.Errorf("%w: --out bin: %s is not a sequence of whole numbers: "+
				"must have one axis of uint8, int8, int16, int32, int64 or uint16", ErrOptions, f.Name)
		}
		w.field, w.code, w.size = i, megatronTypes[f.DType], f.DType.Size()
	}
	if w.field < 0 {
		return nil, fmt.Errorf("%w: --out bin: there is no field of tokens", ErrOptions)
	}
	return w, nil
}

// encode writes how many bytes the tokens have, and these.
func (w *sequences) encode(block *bytes.Buffer, scratch []byte, columns []column, row int, _ int64, _ int) ([]byte, error) {
	tokens := columns[w.field].row(row)
	block.Reset()
	block.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(tokens))))
	block.Write(tokens)
	return scratch, nil
}

func (w *sequences) convert(blocks io.Reader, samples int64, bin, idx io.Writer) error {
	// The index has all lengths before all pointers, so it is written at the end.
	lengths, pointers := make([]byte, 0, 4*samples), make([]byte, 0, 8*samples)
	at := int64(0)
	for range samples {
		var n int64
		if err := binary.Read(blocks, binary.LittleEndian, &n); err != nil {
			return err
		}
		if n/int64(w.size) > math.MaxInt32 {
			return fmt.Errorf("a document of %d tokens: Megatron counts them in 31 bits", n/int64(w.size))
		}
		if _, err := io.CopyN(bin, blocks, n); err != nil {
			return err
		}
		lengths = binary.LittleEndian.AppendUint32(lengths, uint32(n/int64(w.size)))
		pointers = binary.LittleEndian.AppendUint64(pointers, uint64(at))
		at += n
	}

	head := append([]byte("MMIDIDX\x00\x00"), 1, 0, 0, 0, 0, 0, 0, 0, w.code)
	head = binary.LittleEndian.AppendUint64(head, uint64(samples))
	head = binary.LittleEndian.AppendUint64(head, uint64(samples)+1)
	documents := make([]byte, 0, 8*(samples+1)) // each is a sequence
	for i := range samples + 1 {
		documents = binary.LittleEndian.AppendUint64(documents, uint64(i))
	}
	_, err := idx.Write(slices.Concat(head, lengths, pointers, documents))
	return err
}

func (w *sequences) describe(i int, f headrace.Field) FieldFile {
	d := FieldFile{Name: f.Name, DType: dtypeName(f), Shape: shapeOf(f)}
	if i != w.field {
		d.Note = "not written: a document is its tokens"
	}
	return d
}
