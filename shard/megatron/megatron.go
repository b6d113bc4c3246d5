package megatron

import (
	"context"
	"encoding/binary"
	"path"
	"strings"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/shard/internal/window"
	"github.com/headrace/headrace/tensor"
)

// Field is the name of what a sample has.
const Field = "tokens"

const (
	mark   = "MMIDIDX\x00\x00"
	header = len(mark) + 8 + 1 + 8 + 8 // with the version, the type, and two counts
)

// types are the numbers of the tokens' types. Those of the others are of numbers with
// fractions, which no tokens are.
var types = map[byte]tensor.DType{
	1: tensor.Uint8, 2: tensor.Int8, 3: tensor.Int16, 4: tensor.Int32, 5: tensor.Int64, 8: tensor.Uint16,
}

// Format is that of pairs of a .bin and an .idx file. The shard is the .bin.
type Format struct{}

var _ shard.Accompanied = Format{}

// Name is "megatron".
func (Format) Name() string { return "megatron" }

// Suffixes is ".bin".
func (Format) Suffixes() []string { return []string{".bin"} }

// Begins is false: tokens do not tell.
func (Format) Begins([]byte) bool { return false }

// Companion is the .idx file.
func (Format) Companion(name string) string { return strings.TrimSuffix(name, ".bin") + ".idx" }

// Scan reads the index beside the shard.
func (Format) Scan(ctx context.Context, f shard.File, found *index.Builder) error {
	name := path.Base(f.Name())
	if !strings.HasSuffix(name, ".bin") {
		return shard.Wrong(f, -1, shard.ErrUnsupported, "the name does not end in .bin, so that the .idx beside it is not known")
	}
	idx, err := f.Beside(Format{}.Companion(name))
	if err != nil {
		return &shard.Error{Shard: f.Name(), At: -1, Err: err}
	}
	x, err := open(idx)
	if err != nil {
		return err
	}
	found.Type(Field, sample.TensorType(x.dtype, tensor.Unknown))
	if x.documents > 1 {
		return x.byDocument(ctx, f, found)
	}
	return x.bySequence(ctx, f, found)
}

// places is an index that was opened.
type places struct {
	file                 shard.File
	dtype                tensor.DType
	sequences, documents int64 // documents: of their limits, one more than there are
	lengths, at, limits  column
}

// column is numbers of one size in a file.
type column struct {
	w    *window.Reader
	from int64
	size int
}

// of returns the number at a place of the column.
func (c column) of(i int64) (int64, error) {
	b, err := c.w.At(c.from+i*int64(c.size), c.size)
	if err != nil {
		return 0, err
	}
	if c.size == 4 {
		return int64(int32(binary.LittleEndian.Uint32(b))), nil
	}
	return int64(binary.LittleEndian.Uint64(b)), nil
}

// open reads the beginning of an index.
func open(f shard.File) (x places, err error) {
	head, err := window.New(f).At(0, header)
	if err != nil {
		return x, err
	}
	if string(head[:len(mark)]) != mark {
		return x, shard.Wrong(f, 0, shard.ErrCorrupt, "the file is not a Megatron-LM index")
	}
	head = head[len(mark):]
	if version := binary.LittleEndian.Uint64(head); version != 1 {
		return x, shard.Wrong(f, int64(len(mark)), shard.ErrUnsupported, "version %d: must be 1", version)
	}
	x.file, x.dtype = f, types[head[8]]
	if !x.dtype.Valid() {
		return x, shard.Wrong(f, int64(len(mark)+8), shard.ErrUnsupported, "tokens of type %d: must be whole numbers", head[8])
	}
	x.sequences, x.documents = int64(binary.LittleEndian.Uint64(head[9:])), int64(binary.LittleEndian.Uint64(head[17:]))

	// 4 bytes of length and 8 of place a sequence, and 8 a document.
	room := f.Size() - int64(header)
	if x.sequences < 0 || x.documents < 0 || x.sequences > room/12 || x.documents > (room-12*x.sequences)/8 {
		return x, shard.Wrong(f, int64(len(mark)+9), shard.ErrTruncated,
			"%d sequences and %d documents do not fit into %d bytes", x.sequences, x.documents, f.Size())
	}
	switch more := room - 12*x.sequences - 8*x.documents; {
	case more == x.sequences && more > 0:
		return x, shard.Wrong(f, -1, shard.ErrUnsupported, "an index of several modalities")
	case more != 0:
		return x, shard.Wrong(f, f.Size()-more, shard.ErrCorrupt, "%d bytes follow the index", more)
	}

	x.lengths = column{window.New(f), int64(header), 4}
	x.at = column{window.New(f), int64(header) + 4*x.sequences, 8}
	x.limits = column{window.New(f), int64(header) + 12*x.sequences, 8}
	return x, nil
}

// sequence is where one is in the shard.
func (x places) sequence(f shard.File, i int64) (at, n int64, err error) {
	if n, err = x.lengths.of(i); err != nil {
		return 0, 0, err
	}
	if at, err = x.at.of(i); err != nil {
		return 0, 0, err
	}
	n *= int64(x.dtype.Size())
	if n < 0 || at < 0 {
		return 0, 0, shard.Wrong(x.file, x.lengths.from+4*i, shard.ErrCorrupt, "sequence %d has %d bytes at %d", i, n, at)
	}
	if n > f.Size() || at > f.Size()-n {
		return 0, 0, shard.Wrong(f, f.Size(), shard.ErrTruncated, "sequence %d has %d bytes at %d, and the file has %d", i, n, at, f.Size())
	}
	return at, n, nil
}

func (x places) bySequence(ctx context.Context, f shard.File, found *index.Builder) error {
	for i := range x.sequences {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		at, n, err := x.sequence(f, i)
		if err != nil {
			return err
		}
		found.Sample(nil)
		found.Part([]byte(Field), at, n)
	}
	return ctx.Err()
}

func (x places) byDocument(ctx context.Context, f shard.File, found *index.Builder) error {
	from, err := x.limits.of(0)
	if err == nil && from != 0 {
		err = shard.Wrong(x.file, x.limits.from, shard.ErrCorrupt, "the first document begins with sequence %d", from)
	}
	if err != nil {
		return err
	}
	for d := range x.documents - 1 {
		if d%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		to, err := x.limits.of(d + 1)
		if err != nil {
			return err
		}
		if to < from || to > x.sequences {
			return shard.Wrong(x.file, x.limits.from+8*(d+1), shard.ErrCorrupt,
				"document %d has sequences %d to %d, of %d", d, from, to, x.sequences)
		}
		at, n, err := x.document(f, from, to)
		if err != nil {
			return err
		}
		found.Sample(nil)
		found.Part([]byte(Field), at, n)
		from = to
	}
	if from != x.sequences {
		return shard.Wrong(x.file, x.limits.from, shard.ErrCorrupt, "the documents have %d sequences, of %d", from, x.sequences)
	}
	return ctx.Err()
}

// document is the range of several sequences, which have to follow each other.
func (x places) document(f shard.File, from, to int64) (at, n int64, err error) {
	for i := from; i < to; i++ {
		begin, length, err := x.sequence(f, i)
		if err != nil {
			return 0, 0, err
		}
		if i == from {
			at = begin
		}
		if begin != at+n {
			return 0, 0, shard.Wrong(x.file, x.at.from+8*i, shard.ErrUnsupported,
				"sequence %d does not follow the one before in its document", i)
		}
		n += length
	}
	return at, n, nil
}
