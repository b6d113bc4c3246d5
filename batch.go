package headrace

import (
	"iter"

	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// Batch is a number of samples, stacked. It is in shared memory that its holder owns
// until [Batch.Release], or until [Batch.Send] gives it to a consumer in another process.
// A Batch is one goroutine's.
type Batch struct{ rows *batch.Batch }

// Field is one field of a batch.
type Field struct {
	Name   string       `json:"name"`
	Kind   sample.Kind  `json:"kind"`             // tensor, text, object or ragged; of samples that no step puts into batches bytes, too
	DType  tensor.DType `json:"dtype,omitempty"`  // of a tensor
	Shape  tensor.Shape `json:"shape,omitzero"`   // of one row, [tensor.Unknown] for an extent that differs between batches; [] of a scalar
	Offset int          `json:"offset,omitempty"` // bytes into the slot at which row 0 lies

	Logical *sample.Logical `json:"logical,omitempty"` // what values stand for, as files say; nil: themselves
}

// fieldsOf are the fields of a layout.
func fieldsOf(l batch.Layout) (fields []Field) {
	for _, f := range l.Fields {
		fields = append(fields, Field(f))
	}
	return fields
}

// Rows is the number of samples, or of rows into which several are packed; only the last
// batch of an epoch has fewer than the recipe says. A batch that a function of Python has
// made whole ([Info].Whole) is one row.
func (b *Batch) Rows() int { return b.rows.Rows() }

// Samples is the number of samples that are in the rows: more than these if several are
// packed into one, or make a whole batch.
func (b *Batch) Samples() int64 { return b.rows.Samples() }

// Epoch is the epoch that the samples belong to.
func (b *Batch) Epoch() int { return b.rows.Epoch() }

// Step is the number of the batch in its epoch, from 0.
func (b *Batch) Step() int64 { return b.rows.Step() }

// Tensor returns the field as a tensor of shape [Rows, …], a view on the batch's memory;
// false if there is no such tensor field. One of a batch that is made whole has the shape
// that the function gave it.
func (b *Batch) Tensor(name string) (tensor.Tensor, bool) { return b.rows.Tensor(name) }

// Extents are those that [Info] leaves open in the shapes of the fields, in their order:
// they differ between batches. The slice is the batch's.
func (b *Batch) Extents() []int { return b.rows.Extents() }

// Text returns a text field, one string a row; nil if there is no such field, or if it
// has lists of text. The slice is the batch's.
func (b *Batch) Text(name string) []string { return b.rows.Text(name) }

// TextLists returns a field of lists of text, such as captions, one list a row; nil if
// there is no such field.
func (b *Batch) TextLists(name string) [][]string { return b.rows.TextLists(name) }

// DeepTextLists returns a field of lists of lists of text, one a row; nil if there is no
// such field.
func (b *Batch) DeepTextLists(name string) [][][]string { return b.rows.DeepTextLists(name) }

// Objects returns a field of Python's objects, the bytes of one a row, which
// docs/protocol.md describes; nil if there is no such field. The slice is the batch's.
func (b *Batch) Objects(name string) []string { return b.rows.Objects(name) }

// Ragged returns a field of arrays that differ in their first extent, such as boxes, one
// a row; nil if there is no such field.
func (b *Batch) Ragged(name string) []tensor.Tensor { return b.rows.Ragged(name) }

// Bytes returns a field of bytes, which only samples have that no step puts into batches;
// nil if there is no such field.
func (b *Batch) Bytes(name string) []byte { return b.rows.Bytes(name) }

// Texts yields every field of text or objects, in the order of the fields: a string a
// row, or, where columns of a table were filled, all of them packed. They are the
// batch's.
func (b *Batch) Texts() iter.Seq2[[]string, *sample.Texts] { return b.rows.Texts() }

// Origins yields the samples of a batch, each with its row, in their order: several of
// one row if they are packed, and of a batch that a function has made whole each with its
// place in the list that this was given. It is nil if the loader keeps no ledger.
func (b *Batch) Origins() iter.Seq2[int, Origin] { return b.rows.Origins() }

// Replaced are the samples in whose places others came, by rows; none if the loader
// replaces none.
func (b *Batch) Replaced() []*Lost { return b.rows.Replaced() }

// Slot names the batch's memory to a consumer in another process.
func (b *Batch) Slot() (segment, slot uint32, pooled bool) { return b.rows.Slot() }

// Alone reports whether the batch's segment is for it alone, and goes when it is
// released.
func (b *Batch) Alone() bool { return b.rows.Alone() }

// Taken returns what a consumer in another process calls when its loop has the batch, so
// that samples of a later one may begin: see [Config.Prefetch]. Send comes afterwards.
func (b *Batch) Taken() func() { return b.rows.Ticket().OnTaken() }

// Send gives the memory to a consumer in another process; [Loader.Release] takes it back
// by its name. The batch must not be used afterwards.
func (b *Batch) Send() error { return b.rows.Send() }

// Release gives the memory back. The batch must not be used afterwards.
func (b *Batch) Release() { b.rows.Release() }
