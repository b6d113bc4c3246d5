// Package window reads windows over neighbours: fields of which a sample has the values
// of several rows around its own.
package window

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/tensor"
)

// Windows say which samples are neighbours.
type Windows struct {
	set    *shard.Dataset
	groups *shard.Groups
	times  *shard.Times // nil: offsets count rows
	most   int64        // bytes of a sample
}

// New returns the windows of a set, whose samples have so many bytes at most. Times may
// be nil.
func New(set *shard.Dataset, groups *shard.Groups, times *shard.Times, most int64) *Windows {
	return &Windows{set, groups, times, most}
}

// Field is a field of which a sample has the values of several rows.
type Field struct {
	Value, Mask sample.Type // of a sample

	of      *Windows
	offsets []float64
	reader  *shard.Reader // of the field alone
	row     int           // its bytes in a row
	free    sync.Pool     // of *gatherer
}

// ErrForm refuses windows of fields of other forms.
var ErrForm = errors.New("only numbers and arrays of one shape have windows")

// Field returns a field that has a column's values at offsets: in rows, or in seconds if
// there are times.
func (w *Windows) Field(ctx context.Context, of shard.Column, offsets []float64) (*Field, error) {
	reader, err := w.set.Select(ctx, of)
	if err != nil {
		return nil, err
	}
	is := reader.Types()[0]
	if is.Kind != sample.Tensor || !is.Fixed() || slices.Contains(is.Shape, 0) {
		return nil, fmt.Errorf("%v: %w", is, ErrForm)
	}
	row, err := is.Shape.Bytes(is.DType)
	if err != nil {
		return nil, err
	}

	n := len(offsets)
	value := sample.TensorType(is.DType, append([]int{n}, is.Shape...)...).As(is.Logical)
	if _, err := value.Shape.Bytes(is.DType); err != nil {
		return nil, err
	}
	return &Field{Value: value, Mask: sample.TensorType(tensor.Bool, n), of: w, offsets: offsets, reader: reader, row: int(row)}, nil
}

// Indexed reports whether the values are in the index, so that nothing is read.
func (f *Field) Indexed() bool { return f.reader.Indexed([]int{0}) }

// Blocks calls [shard.Reader.Blocks] for the samples themselves.
func (f *Field) Blocks(least int64) ([]int64, error) { return f.reader.Blocks(least) }

// Room returns how many bytes Read needs.
func (f *Field) Room() int64 {
	values, mask := f.parts()
	return values + mask
}

// parts returns the bytes of a window and of its mask, rounded up so that numbers after
// them are aligned.
func (f *Field) parts() (values, mask int64) {
	n := int64(len(f.offsets))
	return (n*int64(f.row) + 7) &^ 7, (n + 7) &^ 7
}

// Read reads the window of a sample and its mask into a buffer that has room for them. It
// returns how many bytes were read from files.
func (f *Field) Read(ctx context.Context, i int64, buffer []byte) (value, mask shard.Value, read int64, err error) {
	g, err := f.gatherer()
	if err != nil {
		return value, mask, 0, err
	}
	n, size := len(f.offsets), len(f.offsets)*f.row
	first, _ := f.parts()
	value = shard.Value{Bytes: buffer[:size:size], Shape: f.Value.Shape}
	mask = shard.Value{Bytes: buffer[first:][:n:n], Shape: f.Mask.Shape}

	g.one[0] = i
	if read, err = g.into(ctx, g.one[:], value.Bytes, mask.Bytes); err != nil {
		return value, mask, read, err
	}
	f.free.Put(g)
	return value, mask, read, nil
}
