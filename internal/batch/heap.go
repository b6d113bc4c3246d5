package batch

import (
	"context"

	"github.com/headrace/headrace/budget"
	"github.com/headrace/headrace/op/core"
)

// heap is the memory of a batch that a later stage takes. It is what samples are in, so
// that functions of Python are given the batch without a copy.
type heap struct {
	bytes  *[]byte
	before *[]byte // that it was in until it grew; nil: it has not, or nothing is there any more
	grant  budget.Grant
}

// reserveHeap waits for the bytes of a batch. Batches are admitted in their order.
func (s *Slots) reserveHeap(ctx context.Context) (heap, error) {
	grant, err := s.Lane.Acquire(ctx, s.serial.Add(1), core.ForBatches, int64(s.Layout.Bytes))
	if err != nil {
		return heap{}, err
	}
	return heap{bytes: s.Memory.Files.Take(s.Layout.Bytes), grant: grant}, nil
}

// grow gives a batch more memory. Data that workers wrote before stays at its old place
// until shed.
func (b *Batch) grow(n int) error {
	if b.slot == nil {
		b.shed()
		b.heap.before, b.heap.bytes = b.heap.bytes, b.Slots.Memory.Files.Take(n)
		b.heap.grant.Resize(int64(n))
		b.data = *b.heap.bytes
		return nil
	}
	err := b.slot.Grow(n)
	b.data = b.slot.Bytes()
	return err
}

// shed gives back the memory that a batch was in before it has grown.
func (b *Batch) shed() {
	if b.heap.before != nil {
		b.Slots.Memory.Files.Give(b.heap.before)
		b.heap.before = nil
	}
}
