package pack

import (
	"encoding/binary"
	"github.com/headrace/headrace/extern/internal/message"
	"github.com/headrace/headrace/extern/internal/shared"
	"testing"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// A function that works in place must not do it twice, so its results go back before the
// next sample begins. Who can only read has no such haste: each message wakes the engine
// up.
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
			heap, err := shared.NewHeap()
			if err != nil {
				t.Fatal(err)
			}
			defer heap.Close()
			var spaces shared.Spaces
			spaces.Init(heap)
			of := &Function{Heap: heap, Spaces: &spaces, In: sample.Schema{{Name: "x", Type: c.kind}}}
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
			var k Pack
			k.Reset(of)
			k.Add(&Task{Call: &Call{In: []Value{value}}})
			k.begin(1, false, false, false)
			defer k.Release()
			if own := binary.LittleEndian.Uint64(k.ints[8:])&message.OwnShared != 0; own != c.own {
				t.Errorf("results go back before the next sample: %v", own)
			}
		})
	}
}
