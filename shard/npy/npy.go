package npy

import (
	"bytes"
	"context"
	"errors"

	"github.com/headrace/headrace/internal/npy"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/shard/internal/window"
)

// Field is the name of what a sample has.
const Field = "array"

// Format is that of NumPy's files of one array.
type Format struct{}

var _ shard.Format = Format{}

// Name is "npy".
func (Format) Name() string { return "npy" }

// Suffixes is ".npy".
func (Format) Suffixes() []string { return []string{".npy"} }

// Begins looks for NumPy's mark.
func (Format) Begins(head []byte) bool { return bytes.HasPrefix(head, []byte("\x93NUMPY")) }

// Scan reads the header. Where rows are follows from their number.
func (Format) Scan(ctx context.Context, f shard.File, found *index.Builder) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	head, err := window.New(f).At(0, int(min(f.Size(), int64(npy.MaxHeader))))
	if err != nil {
		return err
	}
	l, err := npy.ReadLayout(head)
	if errors.Is(err, npy.ErrShort) {
		return shard.Wrong(f, f.Size(), shard.ErrTruncated, "%v", err)
	}
	if err != nil {
		return shard.Wrong(f, 0, shard.ErrUnsupported, "%v", err)
	}
	if has := f.Size() - int64(l.At); has < l.Size {
		return shard.Wrong(f, f.Size(), shard.ErrTruncated, "an array %v of %s has %d bytes, and %d follow the header",
			l.Shape, l.Descr, l.Size, has)
	} else if has > l.Size {
		return shard.Wrong(f, int64(l.At)+l.Size, shard.ErrCorrupt, "%d bytes follow the array", has-l.Size)
	}

	rows, each, err := l.Rows()
	if err != nil {
		return shard.Wrong(f, 0, shard.ErrUnsupported, "%v", err)
	}
	found.Type(Field, sample.TensorType(l.DType(), l.Shape[1:]...))
	for i := range rows {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		found.Sample(nil)
		found.Part([]byte(Field), int64(l.At)+i*each, each)
	}
	return nil
}
