package batch

import (
	"errors"
	"testing"

	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// Sizes whose product is beyond what an int holds must not come out as something small.
func TestBatchesBeyondMemoryAreRefused(t *testing.T) {
	for _, side := range []int{1 << 13, 1 << 16, 1 << 20, 1 << 30} {
		schema := sample.Schema{
			{Name: "image", Type: sample.Type{Kind: sample.Tensor, DType: tensor.Uint8, Shape: tensor.Shape{side, side, 3}}},
			{Name: "label", Type: sample.Type{Kind: sample.Tensor, DType: tensor.Int64}},
		}
		if l, err := NewLayout(schema, Size{Rows: 1<<31 - 1}); !errors.Is(err, core.ErrConfig) {
			t.Errorf("images of %d×%d: a batch of %d bytes, %v", side, side, l.Bytes, err)
		}
	}
}
