package input

import (
	"context"
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/tensor"
)

// ValueOf returns a function from samples to a column's value as text, for splits; nil:
// the field is no column of text, whole numbers or truth values. Samples are asked for in
// their order. Failed returns the error of a sample whose value cannot be read; it has
// the value "".
func (s *ShardSet) ValueOf(field string) (value func(index int64) string, failed func() error) {
	k := s.args.Gives.Schema.Find(field)
	of := slices.Index(s.plain, k)
	if k < 0 || of < 0 {
		return nil, nil
	}
	r := columnReader{set: s, of: of, is: s.args.Gives.Schema[k].Type}
	switch r.is.Kind {
	case sample.Text:
		if len(r.is.Shape) > 0 {
			return nil, nil
		}
	case sample.Tensor:
		if len(r.is.Shape) > 0 || isFloat(r.is.DType) {
			return nil, nil
		}
	default:
		return nil, nil
	}
	return r.value, func() error { return r.err }
}

// columnReader has a column's values, so many at a time.
type columnReader struct {
	set *ShardSet
	of  int // column of the set's reader
	is  sample.Type

	gather  *shard.Gatherer
	samples []int64
	target  shard.Target
	alone   int64 // samples before this one are read alone: of others among them, one has no value
	err     error
}

const valuesAtOnce = 4096

func (r *columnReader) value(index int64) string {
	if len(r.samples) == 0 || index < r.samples[0] || index > r.samples[len(r.samples)-1] {
		if r.err == nil && index >= r.alone && r.load(index, valuesAtOnce) != nil {
			r.alone = index + valuesAtOnce
		}
		if r.err == nil && index < r.alone {
			r.err = r.load(index, 1)
		}
	}
	if r.err != nil {
		return ""
	}
	at := int(index - r.samples[0])
	if r.target.Texts != nil {
		return string(r.target.Texts.At(at))
	}
	size := r.is.DType.Size()
	return r.text(r.target.Data[at*size:][:size])
}

// load reads the values of n samples, if there are so many.
func (r *columnReader) load(from, n int64) (err error) {
	if r.gather == nil {
		if r.gather, err = r.set.reader.Gatherer([]int{r.of}, r.set.args.MaxBytes, nil); err != nil {
			return err
		}
		if r.target.Texts = new(sample.Texts); r.is.Kind == sample.Tensor {
			r.target = shard.Target{Data: make([]byte, valuesAtOnce*r.is.DType.Size())}
		}
	}
	r.samples = r.samples[:0]
	for i := from; i < min(from+n, r.set.Len()); i++ {
		r.samples = append(r.samples, i)
	}
	if r.target.Texts != nil {
		r.target.Texts.Reset()
	}
	_, err = r.gather.Gather(context.Background(), r.samples, []shard.Target{r.target})
	return err
}

// text returns a number as text. Codes of a dictionary are its names, which stay when
// files are added.
func (r *columnReader) text(b []byte) string {
	if r.is.DType == tensor.Bool {
		return strconv.FormatBool(b[0] != 0)
	}
	var wide [8]byte
	copy(wide[:], b)
	n := binary.LittleEndian.Uint64(wide[:])
	switch r.is.DType {
	case tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64:
		unused := 64 - 8*len(b)
		signed := int64(n<<unused) >> unused
		if l := r.is.Logical; l != nil && signed >= 0 && signed < int64(len(l.Names)) {
			return l.Names[signed]
		}
		return strconv.FormatInt(signed, 10)
	}
	return strconv.FormatUint(n, 10)
}
