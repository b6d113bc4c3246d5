package extern

import (
	"encoding/binary"
	"headrace/extern/internal/message"
	"testing"

	"headrace/sample"
	"headrace/tensor"
)

// A function that works in place must not do it twice, so its results go back before the next sample begins. Who can only read has no such haste: each
// message wakes the engine up.
func TestWhatMustNotBeDoneAgain(t *testing.T) {
	const size = copyMost + 1
	image := sample.TensorType(tensor.Uint8, tensor.Unknown)
	for name, c := range map[string]struct {
		kind   sample.Type
		inHeap bool
		own    bool
	}{
		"a tensor in the heap":      {image, true, true},
		"an object in the heap":     {sample.ObjectType, true, true},
		"bytes in the heap":         {sample.BytesType, true, false},
		"a copy of a tensor":        {image, false, false},
		"a copy of an object":       {sample.ObjectType, false, false},
		"a copy of bytes":           {sample.BytesType, false, false},
		"a tensor with the message": {sample.TensorType(tensor.Uint8, 4), true, false},
	} {
		t.Run(name, func(t *testing.T) {
			heap, err := NewHeap()
			if err != nil {
				t.Fatal(err)
			}
			defer heap.Close()
			pool := &Pool{heap: heap, workers: &Workers{heap: heap}}
			pool.workers.spaces.Init(heap)
			pool.o.In = sample.Schema{{Name: "x", Type: c.kind}}
			data := make([]byte, size)
			if c.inHeap {
				data = heap.Take(size)
				defer heap.Give(data)
			}
			value := Value{Kind: c.kind.Kind, Data: data}
			if c.kind.Kind == sample.Tensor {
				value.Shape = []int{size}
				if n := c.kind.Shape[0]; n != tensor.Unknown {
					value.Shape, value.Data = c.kind.Shape, data[:n]
				}
			}
			l := &lane{
				process: &process{workers: pool.workers}, knows: map[*Pool]*knowledge{pool: {}},
				jobs: []*job{{pool: pool, call: &Call{In: []Value{value}}}},
			}
			l.pack.reset(l)
			l.pack.begin(1)
			defer l.pack.release()
			if own := binary.LittleEndian.Uint64(l.pack.ints[8:])&message.OwnShared != 0; own != c.own {
				t.Errorf("results go back before the next sample: %v", own)
			}
		})
	}
}
