package headrace

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"headrace/arena"
	"headrace/tensor"
)

// Batch is a number of samples, stacked. It lies in shared memory that its holder owns until [Batch.Release], or until [Batch.Send] gives it to a
// consumer in another process. A Batch is one goroutine's.
type Batch struct {
	slots   *slots
	slot    *arena.Slot
	form    atomic.Pointer[form] // nil until a row is written, where batches have several
	texts   [][]string           // by text field, then row; len(texts[i]) == layout.rows
	origins [][]Origin           // by row; nil: there is no ledger
	lost    [][]*Lost            // by row, the samples in whose places others came, in the order of these; nil: the loader replaces none
	rows    int
	samples []int // by row, how many are packed into it; nil: one
	epoch   int
	step    int64
}

// Rows is the number of samples; only the last batch of an epoch has fewer than the recipe says.
func (b *Batch) Rows() int { return b.rows }

// Epoch is the epoch that the samples belong to.
func (b *Batch) Epoch() int { return b.epoch }

// Step is the number of the batch in its epoch, from 0.
func (b *Batch) Step() int64 { return b.step }

// Tensor returns the field as a tensor of shape [Rows, …], a view on the batch's memory; false if there is no such tensor field.
func (b *Batch) Tensor(name string) (tensor.Tensor, bool) {
	form := b.form.Load()
	for i, f := range b.slots.layout.fields {
		if f.Name == name && f.DType != tensor.Invalid {
			n := b.rows * form.sizes[i]
			shape := append(tensor.Shape{b.rows}, form.shapes[i]...)
			return tensor.Tensor{DType: f.DType, Shape: shape, Data: b.slot.Bytes()[f.Offset : f.Offset+n : f.Offset+n]}, true
		}
	}
	return tensor.Tensor{}, false
}

// Extents are those that [Info] leaves open in the shapes of the fields, in their order: they differ between batches. The slice is the batch's.
func (b *Batch) Extents() []int { return b.form.Load().extents }

// row returns the bytes of field f in row i.
func (b *Batch) row(f, i int) []byte {
	n := b.form.Load().sizes[f]
	start := b.slots.layout.fields[f].Offset + i*n
	return b.slot.Bytes()[start : start+n : start+n]
}

// Text returns a text field, one string a row; nil if there is no such field. The slice is the batch's.
func (b *Batch) Text(name string) []string {
	for t, f := range b.slots.layout.texts {
		if b.slots.layout.fields[f].Name == name {
			return b.texts[t][:b.rows]
		}
	}
	return nil
}

// Texts returns every text field in the order of the fields.
func (b *Batch) Texts() [][]string {
	out := make([][]string, len(b.texts))
	for i := range b.texts {
		out[i] = b.texts[i][:b.rows]
	}
	return out
}

// empty forgets whose samples a row holds.
func (b *Batch) empty(row int) {
	if b.lost != nil {
		b.lost[row] = nil
	}
	if b.origins != nil {
		b.origins[row] = nil
	}
}

// origin notes a sample that an empty row holds, behind those that were noted.
func (b *Batch) origin(row int, it *item) {
	if b.lost != nil && it.replaced != nil {
		b.lost[row] = append(b.lost[row], it.replaced)
	}
	if b.origins != nil {
		b.origins[row] = append(b.origins[row], it.origin())
	}
}

// Samples is the number of samples that lie in the rows: more than these where several are packed into one.
func (b *Batch) Samples() (n int64) {
	if b.samples == nil {
		return int64(b.rows)
	}
	for _, k := range b.samples[:b.rows] {
		n += int64(k)
	}
	return n
}

// Slot names the batch's memory to a consumer in another process.
func (b *Batch) Slot() (segment, slot uint32, pooled bool) {
	return b.slot.Segment(), b.slot.Index(), b.slot.Pooled()
}

// Send gives the memory to a consumer in another process; [Loader.Release] takes it back by its name. The batch must not be used afterwards.
func (b *Batch) Send() error {
	err := b.slot.Send()
	b.slots.recycle(b)
	return err
}

// Release gives the memory back. The batch must not be used afterwards.
func (b *Batch) Release() { b.slots.Drop(b) }

// slots lets the engine fill batches in the slots of an arena.
type slots struct {
	layout *layout
	arena  *arena.Arena
	held   func(*arena.HeldError) // tells the consumer that waits that it holds too much
	packs  bool                   // several samples lie in a row
	notes  bool                   // there may be samples in the place of others
	ledger bool
	free   sync.Pool // of *Batch without a slot
}

// Reserve waits for a slot. Where the consumer itself holds all that may be held, it is told, and the wait goes on until it lets go.
func (s *slots) Reserve(ctx context.Context) (*Batch, error) {
	for {
		slot, err := s.arena.Reserve(ctx)
		if held := (*arena.HeldError)(nil); errors.As(err, &held) {
			s.arena.SetWaiting(false)
			s.held(held)
			continue
		}
		if err != nil {
			return nil, err
		}
		b, _ := s.free.Get().(*Batch)
		if b == nil {
			b = &Batch{slots: s, texts: make([][]string, len(s.layout.texts))}
			for i := range b.texts {
				b.texts[i] = make([]string, s.layout.rows)
			}
			if s.packs {
				b.samples = make([]int, s.layout.rows)
			}
			if s.notes {
				b.lost = make([][]*Lost, s.layout.rows)
			}
			if s.ledger {
				b.origins = make([][]Origin, s.layout.rows)
			}
		}
		b.slot, b.rows = slot, 0
		if len(s.layout.forms) == 1 && s.layout.unknown() == 0 {
			b.form.Store(&s.layout.forms[0])
		}
		return b, nil
	}
}

// Move copies a row: the price of a lost sample, paid only after one was lost.
func (s *slots) Move(dst *Batch, to int, src *Batch, from int) {
	for i := range s.layout.fields {
		copy(dst.row(i, to), src.row(i, from))
	}
	for t := range dst.texts {
		dst.texts[t][to] = src.texts[t][from]
	}
	if dst.samples != nil {
		dst.samples[to] = src.samples[from]
	}
	if dst.lost != nil {
		dst.lost[to] = src.lost[from]
	}
	if dst.origins != nil {
		dst.origins[to] = src.origins[from]
	}
}

// Seal ends the filling: rows samples stand in the batch.
func (s *slots) Seal(b *Batch, rows int) error {
	b.rows = rows
	return b.slot.Seal()
}

// Drop gives an unwanted batch's slot back.
func (s *slots) Drop(b *Batch) {
	b.slot.Drop() // fails only on a slot that is free already
	s.recycle(b)
}

// recycle keeps a batch's tables for the next one.
func (s *slots) recycle(b *Batch) {
	for _, t := range b.texts {
		clear(t) // keys must not keep a table of paths alive
	}
	clear(b.lost)
	clear(b.origins)
	b.slot = nil
	b.form.Store(nil)
	s.free.Put(b)
}
