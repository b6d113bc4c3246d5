package serve

import (
	"context"
	"encoding/json"

	"github.com/headrace/headrace/arena"
	"github.com/headrace/headrace/tensor"
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

func newBytesResult(slot *arena.Slot, n int) *result { return &result{slot, 8, tensor.Shape{n}} }

// bytesResult returns bytes as a result.
func (s *ioSession) bytesResult(ctx context.Context, all []byte) (*result, error) {
	slot, err := s.results.reserve(ctx, int64(len(all)))
	if err != nil {
		return nil, err
	}
	copy(slot.Bytes(), all)
	return newBytesResult(slot, len(all)), nil
}

// jsonResult returns an object as a result: its JSON.
func (s *ioSession) jsonResult(ctx context.Context, about any) (*result, error) {
	text, err := json.Marshal(about)
	if err != nil {
		return nil, err
	}
	return s.bytesResult(ctx, text)
}
