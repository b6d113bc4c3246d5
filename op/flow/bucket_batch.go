package flow

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

var _ = Ops.Add(recipe.NewOp[BucketBatch]("bucket_batch", recipe.Batching,
	"Batch sequences of similar length, padded to one length per batch.").Explained(`
A sequence is an array whose first extent alone is unknown, as 'decode_npy' makes it. A batch has [rows, length, …]
and, for each 'field', its unpadded lengths as 'field_length', 'int64 [rows]'. A sample goes into the first bucket
that fits its longest sequence, and all its sequences are padded alike; with 'by', that fits this one, and the others
are padded to their own longest. Other fields are stacked.

The number of batches depends on the samples; 'loader.max_batches' is its bound.`,
	".bucket_batch([128, 256, 512], size=32)").
	Called("lengths, *, size, global_size, tokens, bytes, pad, pad_to"))

// BucketBatch are the arguments of the operation bucket_batch. At least one of Size,
// GlobalSize, Tokens and Bytes is given, of the first two only one; a batch keeps all
// that are.
type BucketBatch struct {
	Lengths    []int           `json:"lengths,omitzero" required:"true" example:"[128, 512, 2048]"`
	Size       int             `json:"size,omitempty" min:"1" example:"32"`
	GlobalSize int             `json:"global_size,omitempty" min:"1" doc:"most samples in a batch over all ranks, instead of on each"`
	Tokens     int             `json:"tokens,omitempty" min:"1" example:"16384" doc:"most samples in a batch times the bucket's length"`
	Bytes      int64           `json:"bytes,omitempty" min:"1" doc:"most bytes of a batch's arrays, padded to the bucket's length"`
	By         string          `json:"by,omitempty"`
	PadTo      string          `json:"pad_to,omitempty" choices:"bucket,longest" default:"bucket"`
	Pad        recipe.PadValue `json:"pad,omitzero"`
	Overlong   string          `json:"overlong,omitempty" choices:"error,truncate,drop" default:"error"`
	DropLast   bool            `json:"drop_last" doc:"drop batches that are not full at the end of an epoch"`
}

// Docs implements [argument.Documented].
func (*BucketBatch) Docs() map[string]string {
	return map[string]string{
		"lengths": "the greatest length of each bucket, ascending",
		"size": "most samples in a batch, on each rank. Give at least one of size, global_size, tokens and bytes; " +
			"a batch keeps to all of them",
		"by": "the field whose length chooses the bucket; other sequences are padded to their own longest in the batch. By " +
			"default the longest sequence chooses, and all are padded alike",
		"pad_to": "bucket: the bucket's length, so that there are few shapes to compile for; longest: the batch's " +
			"longest sample",
		"pad": "the padding value: a number, or numbers by field, such as {\"labels\": -100}, 0 for others; by " +
			"default 0",
		"overlong": "sequences longer than the last bucket: error: bad samples; truncate: cut at the end; drop: " +
			"left out",
	}
}

// Complete implements [recipe.Completer].
func (b BucketBatch) Complete() recipe.Args {
	b.Pad = b.Pad.Complete()
	return &b
}

// Check implements [recipe.Args]. The schema that comes out is that of a row: sequences
// are padded, and have their lengths beside them; all else is stacked, text becomes a
// list.
func (b *BucketBatch) Check(in sample.Schema) (sample.Schema, error) {
	errs := []error{argument.Given("lengths", b.Lengths != nil), b.checkLengths(), argument.Choice(b, "pad_to", b.PadTo),
		argument.Choice(b, "overlong", b.Overlong)}
	if b.Size == 0 && b.GlobalSize == 0 && b.Tokens == 0 && b.Bytes == 0 {
		errs = append(errs, errors.New("has no limit: give at least one of size, global_size, tokens and bytes"))
	}
	errs = append(errs, checkSizes(b.Size, b.GlobalSize)...)
	errs = append(errs, checkRows("tokens", b.Tokens))
	if b.Bytes < 0 {
		errs = append(errs, recipe.Wrong("bytes", "is %d: must be at least 1", b.Bytes))
	}

	sequences := in.Ragged()
	if len(sequences) == 0 {
		return in, errors.Join(append(errs, recipe.NoSequences(in, "put into buckets"))...)
	}
	errs = append(errs, b.Pad.Check(sequences)...)
	errs = append(errs, b.checkBy(sequences))

	out := in
	for _, f := range in {
		if !f.Type.Ragged() {
			errs = append(errs, recipe.Stackable(f))
			continue
		}

		// All batches are padded to the one bucket that there is.
		extent := tensor.Unknown
		if len(b.Lengths) == 1 && b.PadTo != "longest" && (b.By == "" || b.By == f.Name) {
			extent = b.Lengths[0]
		}
		var err error
		out = out.With(f.Name, withLength(f.Type, extent))
		out, err = beside(out, f.Name+"_length", sample.TensorType(tensor.Int64))
		errs = append(errs, err)
	}

	if err := errors.Join(errs...); err != nil {
		return out, err
	}
	return out, b.checkRoom(in)
}

func (b *BucketBatch) checkBy(sequences sample.Schema) error {
	switch {
	case b.By == "":
		return nil
	case sequences.Find(b.By) < 0:
		return recipe.Wrong("by", "is %q: must be one of the sequences, %s", b.By, words.List(sequences.Names()))
	case b.Bytes > 0 && len(sequences) > 1:
		return recipe.Wrong("bytes", "is given, and so is by: of other sequences it is unknown how long they are; use size or tokens")
	}
	return nil
}

func (b *BucketBatch) checkLengths() error {
	if b.Lengths != nil && len(b.Lengths) == 0 {
		return recipe.Wrong("lengths", "is empty: give at least one number")
	}
	for i, n := range b.Lengths {
		if n < 1 || i > 0 && n <= b.Lengths[i-1] {
			return recipe.Wrong("lengths", "is %s: must be rising numbers, at least 1", argument.Written(b.Lengths))
		}
	}
	return nil
}

// checkRoom makes sure that a batch of each bucket has at least one sample.
func (b *BucketBatch) checkRoom(in sample.Schema) error {
	rows, err := b.Rows(in, b.GlobalSize)
	if err != nil {
		return err
	}
	if i := slices.Index(rows, 0); i >= 0 {
		limit := fmt.Sprintf("tokens is %d", b.Tokens)
		if b.Tokens == 0 || b.Lengths[i] <= b.Tokens {
			limit = fmt.Sprintf("bytes is %d", b.Bytes)
		}
		return fmt.Errorf("%s: a single sample of length %d is more", limit, b.Lengths[i])
	}
	return nil
}

// Rows returns how many samples a full batch of each bucket has on a rank, of whose share
// of GlobalSize it has at most so many. The arguments must have been checked with this
// schema of what they take.
func (b *BucketBatch) Rows(in sample.Schema, share int) (rows []int, err error) {
	for _, length := range b.Lengths {
		n := int64(math.MaxInt32)
		if b.Size > 0 {
			n = int64(b.Size)
		} else if b.GlobalSize > 0 {
			n = int64(share)
		}
		if b.Tokens > 0 {
			n = min(n, int64(b.Tokens/length))
		}
		if b.Bytes > 0 {
			row, err := b.rowBytes(in, length)
			if err != nil {
				return nil, err
			}
			n = min(n, b.Bytes/row)
		}
		rows = append(rows, int(n))
	}
	return rows, nil
}

// rowBytes returns the bytes of the arrays of a sample that is padded to a length.
func (b *BucketBatch) rowBytes(in sample.Schema, length int) (sum int64, err error) {
	for _, f := range in {
		if f.Type.Kind != sample.Tensor {
			continue
		}
		shape := f.Type.Shape
		if f.Type.Ragged() {
			shape = withLength(f.Type, length).Shape
			sum += 8 // its length
		}
		n, err := shape.Bytes(f.Type.DType)
		if err != nil || n > math.MaxInt64-sum {
			return 0, fmt.Errorf("has too much in a row of length %d: the field %q is %v", length, f.Name, f.Type)
		}
		sum += n
	}
	return sum, nil
}

// withLength is the type of a sequence with its first extent.
func withLength(t sample.Type, extent int) sample.Type {
	t.Shape = append(tensor.Shape{extent}, t.Shape[1:]...)
	return t
}

// beside adds a field that an operation makes of another.
func beside(s sample.Schema, name string, t sample.Type) (sample.Schema, error) {
	if s.Find(name) >= 0 {
		return s, fmt.Errorf("cannot add the field %q: the samples have one of this name already", name)
	}
	return s.With(name, t), nil
}

// Traits implements [recipe.Traited].
func (b *BucketBatch) Traits() recipe.Traits {
	return recipe.Traits{Batches: &recipe.Batches{GlobalSize: b.GlobalSize, Buckets: &recipe.Buckets{
		Lengths: b.Lengths, Rows: b.Rows, Longest: b.PadTo == "longest", Pad: b.Pad, Overlong: b.Overlong, DropLast: b.DropLast, By: b.By,
	}}}
}
