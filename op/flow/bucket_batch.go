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

var bucketBatchOp = Ops.Add(recipe.NewOp[BucketBatch]("bucket_batch", recipe.Batching,
	"Batch sequences of similar length, padded to one length per batch.").Explained(`
A sequence is an array whose first extent alone is unknown, as 'decode_npy' makes it. A batch has [rows, length, …]
and, for each 'field', its unpadded lengths as 'field_length', 'int64 [rows]'. A sample goes into the first bucket
that fits its longest sequence, and all its sequences are padded alike; with 'by', that fits this one, and the others
are padded to their own longest. Other fields are stacked. With 'collate' a function makes the batch of the bucket's
samples, as for 'batch'.

The number of batches depends on the samples; 'loader.max_batches' is its bound.`,
	".bucket_batch([128, 256, 512], size=32)"))

// BucketBatch are the arguments of the operation bucket_batch. At least one of Size,
// GlobalSize, Tokens, Seconds and Bytes is given, of the first two only one; a batch
// keeps all that are.
type BucketBatch struct {
	Lengths    []int           `json:"lengths,omitzero" required:"true" example:"[128, 512, 2048]"`
	Size       int             `json:"size,omitempty" min:"1" example:"32"`
	GlobalSize int             `json:"global_size,omitempty" min:"1" doc:"most samples in a batch over all ranks, instead of on each"`
	Tokens     int             `json:"tokens,omitempty" min:"1" example:"16384" doc:"most samples in a batch times the bucket's length"`
	Seconds    *float64        `json:"seconds,omitempty" min:"0.001" max:"86400" unit:"seconds"`
	Bytes      int64           `json:"bytes,omitempty" min:"1" doc:"most bytes of a batch's arrays, padded to the bucket's length"`
	By         string          `json:"by,omitempty"`
	PadTo      string          `json:"pad_to,omitempty" choices:"bucket,longest" default:"bucket"`
	Pad        recipe.PadValue `json:"pad,omitzero"`
	Overlong   string          `json:"overlong,omitempty" choices:"error,truncate,drop" default:"error"`
	DropLast   bool            `json:"drop_last" doc:"drop batches that are not full at the end of an epoch"`

	Collate *recipe.Collate `json:"collate,omitempty"`
}

// Docs implements [argument.Documented].
func (*BucketBatch) Docs() map[string]string {
	return map[string]string{
		"lengths": "the greatest length of each bucket, ascending",
		"size": "most samples in a batch, on each rank. Give at least one of size, global_size, tokens, seconds and bytes; " +
			"a batch keeps to all of them",
		"seconds": "most samples in a batch times the seconds of the bucket's length, of sound whose rate is known: " +
			"'decode_audio' with a rate, or its spectrogram",
		"by": "the field whose length chooses the bucket; other sequences are padded to their own longest in the batch. By " +
			"default the longest sequence chooses, and all are padded alike",
		"pad_to": "bucket: the bucket's length, so that there are few shapes to compile for; longest: the batch's " +
			"longest sample",
		"pad": "the padding value: a number, or numbers by field, such as {\"labels\": -100}, 0 for others; by " +
			"default 0",
		"overlong": "sequences longer than the last bucket: error: bad samples; truncate: cut at the end; drop: " +
			"left out",
		"collate": "a Python function, with arguments as for map: it is passed a list of the bucket's samples, as they " +
			"are, and returns the batch's fields; by default sequences are padded and all else is stacked",
	}
}

// Complete implements [recipe.Completer].
func (b BucketBatch) Complete() recipe.Args {
	b.Pad = b.Pad.Complete()
	b.Collate = b.Collate.Complete()
	return &b
}

// Identity implements [recipe.Identifier].
func (b BucketBatch) Identity(recipe.Recipe) recipe.Args {
	b.Collate = b.Collate.Identity()
	return &b
}

// CheckFailures implements [recipe.Failing].
func (b *BucketBatch) CheckFailures(f *recipe.Failures) error {
	if b.Collate == nil {
		return recipe.NoneFail(bucketBatchOp.Name)
	}
	return b.Collate.CheckFailures(f)
}

// Check implements [recipe.Args]. The schema that comes out is that of a row: sequences
// are padded, and have their lengths beside them; all else is stacked, text becomes a
// list.
func (b *BucketBatch) Check(in sample.Schema) (sample.Schema, error) {
	errs := []error{argument.Given("lengths", b.Lengths != nil), b.checkLengths(), argument.Choice(b, "pad_to", b.PadTo),
		argument.Choice(b, "overlong", b.Overlong)}
	if samples := b.Size + b.GlobalSize; samples == 0 && b.Tokens == 0 && b.Seconds == nil && b.Bytes == 0 {
		errs = append(errs, errors.New("has no limit: give at least one of size, global_size, tokens, seconds and bytes"))
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
	errs = append(errs, b.checkBy(sequences), b.checkSeconds(sequences))
	if b.Collate != nil {
		out, err := b.checkCollate(in)
		if err := errors.Join(append(errs, err)...); err != nil {
			return out, err
		}
		return out, b.checkRoom(in)
	}
	errs = append(errs, b.Pad.Check(sequences)...)

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

// checkCollate refuses arguments for arrays that the function makes.
func (b *BucketBatch) checkCollate(in sample.Schema) (sample.Schema, error) {
	const so = "is given with collate, which %s: leave one of them out"
	out, err := b.Collate.Check(in, false)
	errs := []error{err}
	if b.Pad.All != 0 || b.Pad.Fields != nil {
		errs = append(errs, recipe.Wrong("pad", so, "pads as it likes"))
	}
	if b.PadTo == "longest" {
		errs = append(errs, recipe.Wrong("pad_to", so, "pads as it likes"))
	}
	if b.Bytes != 0 {
		errs = append(errs, recipe.Wrong("bytes", so, "makes arrays of any size"))
	}
	if b.Overlong == "truncate" {
		errs = append(errs, recipe.Wrong("overlong",
			`is "truncate", and collate is passed whole samples: cut them there, or in a map before`))
	}
	return out, errors.Join(errs...)
}

// checkSeconds refuses seconds of sequences whose rate is unknown.
func (b *BucketBatch) checkSeconds(sequences sample.Schema) error {
	const longest = 86400
	switch {
	case b.Seconds == nil:
		return nil
	case !(*b.Seconds >= 0.001 && *b.Seconds <= longest): // NaN is neither
		return recipe.Wrong("seconds", "is %v: must be from 0.001 to %d", *b.Seconds, longest)
	case b.By == "" && len(sequences) > 1:
		return recipe.Wrong("seconds", "is given, and samples have the sequences %s: by says whose length counts",
			words.List(sequences.Names()))
	}
	of := b.chooser(sequences)
	if of.Type.Rate == 0 {
		return recipe.Wrong("seconds", "is given, and the rate of %q is not known: give decode_audio a rate, and bucket_batch what it "+
			"gives, or its spectrogram, or use tokens, which counts elements: 60 seconds at 16,000 are tokens=960000", of.Name)
	}
	return nil
}

// chooser is the sequence whose length alone chooses the bucket: that which by names, or
// the only one.
func (b *BucketBatch) chooser(sequences sample.Schema) sample.Field {
	return sequences[max(0, sequences.Find(b.By))]
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
		length := b.Lengths[i]
		limit := fmt.Sprintf("bytes is %d", b.Bytes)
		switch {
		case b.Tokens > 0 && length > b.Tokens:
			limit = fmt.Sprintf("tokens is %d", b.Tokens)
		case b.Seconds != nil && length > b.elements(in):
			limit = fmt.Sprintf("seconds is %v", *b.Seconds)
		}
		return fmt.Errorf("%s: a single sample of length %d is more", limit, length)
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
		if b.Seconds != nil {
			n = min(n, int64(b.elements(in)/length))
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

// elements returns how many elements Seconds are. A number that is almost whole is whole:
// seconds are decimal numbers.
func (b *BucketBatch) elements(in sample.Schema) int {
	return int(math.Floor(*b.Seconds*b.chooser(in.Ragged()).Type.Rate + 1e-6))
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
	return b.Collate.Calls(recipe.Traits{Batches: &recipe.Batches{GlobalSize: b.GlobalSize, Collate: b.Collate, Buckets: &recipe.Buckets{
		Lengths: b.Lengths, Rows: b.Rows, Longest: b.PadTo == "longest", Pad: b.Pad, Overlong: b.Overlong, DropLast: b.DropLast, By: b.By,
	}}})
}

// WithGives implements [recipe.Giving].
func (b BucketBatch) WithGives(g recipe.Gives) recipe.Args {
	b.Collate = &recipe.Collate{Python: b.Collate.Python, Gives: g}
	return &b
}
