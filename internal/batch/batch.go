package batch

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/headrace/headrace/arena"
	"github.com/headrace/headrace/budget"
	"github.com/headrace/headrace/internal/bytesize"
	"github.com/headrace/headrace/internal/depth"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// Batch is what headrace.Batch says of it, whose methods call those of the same name, and
// what stages do to one that is not full yet.
type Batch struct {
	Slots   *Slots
	slot    *arena.Slot                 // nil: a later stage takes the batch, and no consumer
	heap    heap                        // what it is in then
	data    []byte                      // its memory
	form    atomic.Pointer[Form]        // nil until a row is written, where batches have several
	texts   []*text                     // by field of text or objects
	origins *rowValues[[]sample.Origin] // by row; nil: there is no ledger
	// by row, the samples in whose places others came, in the order of these; nil: the
	// loader replaces none
	lost    *rowValues[[]*sample.Lost]
	rows    int
	members *rowValues[[]*record.Record] // by row, the samples in it; nil: no stage asks for them
	span    record.Span                  // instead of members, where columns were filled
	samples *rowValues[int]              // by row, how many are packed into it; nil: one
	tickets *rowValues[depth.Ticket]     // by row, of its samples; nil: nobody counts them
	kept    kept                         // objects of the program that are in it
	epoch   int
	step    int64
}

// Rows is the number of samples, or of rows into which several are packed; only the last
// batch of an epoch has fewer than the recipe says. A batch that a function of Python has
// made whole ([Info].Whole) is one row.
func (b *Batch) Rows() int { return b.rows }

// Epoch is the epoch that the samples belong to.
func (b *Batch) Epoch() int { return b.epoch }

// Step is the number of the batch in its epoch, from 0.
func (b *Batch) Step() int64 { return b.step }

// Tensor returns the field as a tensor of shape [Rows, …], a view on the batch's memory;
// false if there is no such tensor field. One of a batch that is made whole has the shape
// that the function gave it.
func (b *Batch) Tensor(name string) (tensor.Tensor, bool) {
	form := b.form.Load()
	for i, f := range b.Slots.Layout.Fields {
		if f.Name == name && f.Kind == sample.Tensor {
			shape := append(tensor.Shape{b.rows}, form.shapes[i]...)
			if b.Slots.Layout.Whole {
				shape = shape[1:]
			}
			return tensor.Tensor{DType: f.DType, Shape: shape, Data: b.column(i, b.rows)}, true
		}
	}
	return tensor.Tensor{}, false
}

// Begin gives the batch its form when the first row is written. Others may write rows of
// it at the same time.
func (b *Batch) Begin(of func() *Form) {
	if b.form.Load() == nil {
		b.form.CompareAndSwap(nil, of())
	}
}

// Extents returns the extents that [Info] leaves open in the shapes of the fields, in
// order; they differ between batches. The slice belongs to the batch.
func (b *Batch) Extents() []int { return b.form.Load().extents }

// row returns the bytes of field f in row i.
func (b *Batch) row(f, i int) []byte {
	form := b.form.Load()
	n := form.sizes[f]
	start := b.offset(form, f) + i*n
	return b.data[start : start+n : start+n]
}

// offset returns the offset of the first row of field f.
func (b *Batch) offset(form *Form, f int) int {
	if b.Slots.Layout.Whole {
		return form.offsets[f]
	}
	return b.Slots.Layout.Fields[f].Offset
}

// Text returns a text field, one string a row; nil if there is no such field, or if it
// has lists of text. The slice is the batch's.
func (b *Batch) Text(name string) []string {
	rows, axes := b.rowsOf(name)
	if axes > 0 {
		return nil
	}
	return rows
}

// TextLists returns a field of lists of text, such as captions, one list a row; nil if
// there is no such field.
func (b *Batch) TextLists(name string) (all [][]string) {
	rows, axes := b.rowsOf(name)
	if axes != 1 {
		return nil
	}
	for _, packed := range rows {
		all = append(all, record.UnpackRows(packed))
	}
	return all
}

// DeepTextLists returns a field of lists of lists of text, one a row; nil if there is no
// such field.
func (b *Batch) DeepTextLists(name string) (all [][][]string) {
	rows, axes := b.rowsOf(name)
	if axes != 2 {
		return nil
	}
	for _, packed := range rows {
		lists := [][]string{}
		for _, list := range record.UnpackRows(packed) {
			lists = append(lists, record.UnpackRows(list))
		}
		all = append(all, lists)
	}
	return all
}

// rowsOf returns a text field, and how deep the lists are that rows have.
func (b *Batch) rowsOf(name string) (rows []string, axes int) {
	layout := b.Slots.Layout
	f := layout.field(name)
	if f < 0 || layout.Fields[f].Kind != sample.Text {
		return nil, 0
	}
	rows, axes = b.beside(name, sample.Text), len(layout.Fields[f].Shape)
	if layout.Whole && !layout.Single && axes > 0 { // the outermost lists are the batch's rows
		return record.UnpackRows(rows[0]), axes - 1
	}
	return rows, axes
}

// Objects returns a field of Python's objects, the bytes of one a row, which
// docs/protocol.md describes; nil if there is no such field. The slice is the batch's.
func (b *Batch) Objects(name string) []string { return b.beside(name, sample.Object) }

// Bytes returns a field of bytes, which only samples have that no step puts into batches;
// nil if there is no such field.
func (b *Batch) Bytes(name string) []byte {
	if all := b.beside(name, sample.Bytes); all != nil {
		return []byte(all[0])
	}
	return nil
}

// Ragged returns a field of arrays that differ in their first extent, one a row; nil if
// there is no such field.
func (b *Batch) Ragged(name string) (all []tensor.Tensor) {
	rows := b.beside(name, sample.Ragged)
	if rows == nil {
		return nil
	}
	f := b.Slots.Layout.Fields[b.Slots.Layout.field(name)]
	each, _ := f.Shape[1:].Bytes(f.DType) // the recipe was checked
	for _, data := range rows {
		shape := slices.Clone(f.Shape)
		shape[0] = len(data) / int(each)
		all = append(all, tensor.Tensor{DType: f.DType, Shape: shape, Data: []byte(data)})
	}
	return all
}

// column returns the memory of a field in the first rows.
func (b *Batch) column(field, rows int) []byte {
	form := b.form.Load()
	start, n := b.offset(form, field), rows*form.sizes[field]
	return b.data[start : start+n : start+n]
}

func (b *Batch) beside(name string, kind sample.Kind) []string {
	for t, f := range b.Slots.Layout.texts {
		if field := &b.Slots.Layout.Fields[f]; field.Name == name && field.Kind == kind {
			return b.texts[t].first(b.rows)
		}
	}
	return nil
}

// Texts yields every field of text or objects, in the order of the fields: a string a
// row, or all of them packed.
func (b *Batch) Texts() iter.Seq2[[]string, *sample.Texts] {
	return func(yield func([]string, *sample.Texts) bool) {
		for _, t := range b.texts {
			rows, packed := []string(nil), &t.packed
			if packed.Len() == 0 {
				rows, packed = t.first(b.rows), nil
			}
			if !yield(rows, packed) {
				return
			}
		}
	}
}

// empty forgets whose samples a row holds.
func (b *Batch) empty(row int) {
	b.lost.forget(row)
	b.origins.forget(row)
	b.members.forget(row)
}

// origin notes a sample that an empty row holds, after those that were noted.
func (b *Batch) origin(row int, it *record.Record) {
	if b.tickets != nil {
		b.tickets.at(row).Join(&it.Ticket)
	}
	if b.members != nil {
		members := b.members.at(row)
		*members = append(*members, it)
		return // whose samples these are is noted where the consumer gets them
	}
	if b.lost == nil && b.origins == nil {
		return
	}

	for one := range it.Samples() {
		if b.lost != nil && one.Replaced != nil {
			lost := b.lost.at(row)
			*lost = append(*lost, one.Replaced)
		}
		if b.origins != nil {
			origins := b.origins.at(row)
			o := one.Origin()
			if one != it {
				o.Draws = slices.Concat(o.Draws, it.Draws)
			}
			*origins = append(*origins, o)
		}
	}
}

// Samples is the number of samples that are in the rows: more than these where several
// are packed into one, or make a whole batch.
func (b *Batch) Samples() (n int64) {
	if b.samples == nil {
		return int64(b.rows)
	}
	for _, k := range b.samples.first(b.rows) {
		n += int64(k)
	}
	return n
}

// Ticket is that of all samples in the batch, which the caller has from now on.
func (b *Batch) Ticket() (all depth.Ticket) {
	b.tickets.each(all.Join)
	return all
}

// Slot names the batch's memory to a consumer in another process.
func (b *Batch) Slot() (segment, slot uint32, pooled bool) {
	return b.slot.Segment(), b.slot.Index(), b.slot.Pooled()
}

// Alone reports whether the batch's segment is for it alone, and goes when it is
// released.
func (b *Batch) Alone() bool { return !b.slot.Pooled() || b.slot.Grown() }

// Origins yields the samples of a batch in order, each with its row: several of one row
// if they are packed. In a batch that a function has made whole, the row is the sample's
// place in the list that the function was given. It is nil if the loader keeps no ledger.
func (b *Batch) Origins() iter.Seq2[int, sample.Origin] {
	if b.origins == nil {
		return nil
	}
	return func(yield func(int, sample.Origin) bool) {
		for i, row := range b.origins.first(b.rows) {
			for k, o := range row {
				if b.Slots.Layout.Whole {
					i = k
				}
				if !yield(i, o) {
					return
				}
			}
		}
	}
}

// Number says which batch it is: of which epoch, and its place there.
func (b *Batch) Number(epoch int, step int64) { b.epoch, b.step = epoch, step }

// Take gives the memory to a consumer in this process.
func (b *Batch) Take() error { return b.slot.Take() }

// Replaced are the samples in whose places others came, by rows; none if the loader
// replaces none.
func (b *Batch) Replaced() []*sample.Lost {
	if b.lost == nil {
		return nil
	}
	return slices.Concat(b.lost.first(b.rows)...) // nil, as a rule
}

// Send gives the memory to a consumer in another process; [Loader.Release] takes it back
// by its name. The batch must not be used afterwards.
func (b *Batch) Send() error {
	b.Slots.sent.add(b)
	err := b.slot.Send()
	b.Slots.recycle(b)
	return err
}

// Release gives the memory back. The batch must not be used afterwards.
func (b *Batch) Release() { b.Slots.Drop(b) }

// Slots lets the engine fill batches in the slots of an arena.
type Slots struct {
	Layout *Layout
	Arena  *arena.Arena
	Held   func(*arena.HeldError) // tells the consumer that waits that it holds too much
	Packs  bool                   // several samples are in a row, or a row is the whole batch
	Notes  bool                   // there may be samples instead of others
	Ledger bool
	Counts bool           // samples have tickets
	Lane   *budget.Lane   // of batches that a later stage takes; nil: a consumer does, and they are in Arena
	Memory *record.Memory // that these are in

	serial atomic.Uint64 // of the batch that was reserved last
	free   sync.Pool     // of *Batch without a slot
	sent   sent
}

// Reserve waits for a slot. If the consumer itself holds all that may be held, it is
// warned, and the wait goes on until it releases one.
func (s *Slots) Reserve(ctx context.Context) (*Batch, error) {
	if s.Lane != nil {
		h, err := s.reserveHeap(ctx)
		if err != nil {
			return nil, err
		}
		b := s.blank()
		b.heap, b.data = h, *h.bytes
		return b, nil
	}

	for {
		slot, err := s.Arena.Reserve(ctx)
		if held := (*arena.HeldError)(nil); errors.As(err, &held) {
			s.Arena.SetWaiting(false)
			s.Held(held)
			continue
		}
		if err != nil {
			return nil, err
		}
		b := s.blank()
		b.slot, b.data = slot, slot.Bytes()
		return b, nil
	}
}

// blank returns a batch without memory and without rows.
func (s *Slots) blank() *Batch {
	b, _ := s.free.Get().(*Batch)
	if b == nil {
		b = &Batch{Slots: s, texts: make([]*text, len(s.Layout.texts))}
		for i := range b.texts {
			b.texts[i] = newText(s.Layout.Rows)
		}
		if s.Lane != nil {
			b.members = newRowValues[[]*record.Record](s.Layout.Rows)
		}
		if s.Packs {
			b.samples = newRowValues[int](s.Layout.Rows)
		}
		if s.Counts {
			b.tickets = newRowValues[depth.Ticket](s.Layout.Rows)
		}
		if s.Notes {
			b.lost = newRowValues[[]*sample.Lost](s.Layout.Rows)
		}
		if s.Ledger {
			b.origins = newRowValues[[]sample.Origin](s.Layout.Rows)
		}
	}

	b.rows = 0
	if len(s.Layout.Forms) == 1 && s.Layout.unknown() == 0 {
		b.form.Store(&s.Layout.Forms[0])
	}
	return b
}

// Move copies a row: the price of a lost sample, paid only after one was lost.
func (s *Slots) Move(dst *Batch, to int, src *Batch, from int) {
	for i := range s.Layout.Fields {
		copy(dst.row(i, to), src.row(i, from))
	}
	for t := range dst.texts {
		dst.texts[t].take(to, src.texts[t], from)
	}
	dst.members.take(to, src.members, from)
	dst.samples.take(to, src.samples, from)
	dst.lost.take(to, src.lost, from)
	dst.origins.take(to, src.origins, from)
	if src != dst { // else they are there
		dst.kept.add(src.kept.share()) // of all rows: few batches lose any
	}
	if dst.tickets != nil {
		dst.tickets.at(to).Join(src.tickets.at(from))
	}
}

// Seal ends the filling: rows samples are in the batch.
func (s *Slots) Seal(b *Batch, rows int) error {
	if b.rows == 0 { // else its samples were written at once
		b.rows = rows
	}
	if err := b.checkBeside(mostBeside); err != nil {
		return err
	}
	if b.slot == nil {
		return nil
	}
	return b.slot.Seal()
}

// checkBeside refuses more text and objects than can travel with a batch.
func (b *Batch) checkBeside(most int) error {
	size := 0
	for _, field := range b.texts {
		size += 4*(b.rows+1) + field.size(b.rows)
	}
	if size <= most {
		return nil
	}
	return fmt.Errorf("%w: a batch of %d rows has %s of text and objects, and at most %s travel with one: "+
		"use a smaller batch, or have functions return large arrays as fields of their own, which are not copied",
		core.ErrConfig, b.rows, bytesize.Text(int64(size)), bytesize.Text(int64(most)))
}

// Drop gives an unwanted batch's slot back.
func (s *Slots) Drop(b *Batch) {
	if b.slot != nil {
		b.slot.Drop() // fails only on a slot that is free already
	} else {
		s.Memory.Files.Give(b.heap.bytes)
		b.heap.grant.Release()
	}
	s.recycle(b)
}

// recycle keeps a batch's tables for the next one.
func (s *Slots) recycle(b *Batch) {
	for _, t := range b.texts {
		t.clear() // keys must not keep a table of paths alive
	}
	all := b.kept.take()
	all.Leave()
	b.lost.clear()
	b.origins.clear()
	b.members.clear()
	if b.tickets != nil {
		left := b.Ticket() // of a batch that nobody takes
		left.Leave()
	}
	b.slot, b.heap, b.data, b.span = nil, heap{}, nil, record.Span{}
	b.form.Store(nil)
	s.free.Put(b)
}
