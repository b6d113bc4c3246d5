package serve

import (
	"context"
	"encoding/json"

	"headrace/arena"
	"headrace/tensor"
)

// result is an array in a slot.
type result struct {
	slot  *arena.Slot
	bits  int // of an element
	shape tensor.Shape
}

func (r *result) drop() {
	if r != nil {
		r.slot.Drop()
	}
}

func bytesResult(slot *arena.Slot, n int) *result { return &result{slot, 8, tensor.Shape{n}} }

// bytes is a result of bytes.
func (s *errands) bytes(ctx context.Context, all []byte) (*result, error) {
	slot, err := s.shelf.reserve(ctx, int64(len(all)))
	if err != nil {
		return nil, err
	}
	copy(slot.Bytes(), all)
	return bytesResult(slot, len(all)), nil
}

// told is an object as a result: its JSON.
func (s *errands) told(ctx context.Context, about any) (*result, error) {
	text, err := json.Marshal(about)
	if err != nil {
		return nil, err
	}
	return s.bytes(ctx, text)
}
