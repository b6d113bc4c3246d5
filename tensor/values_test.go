package tensor_test

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/tensor"
)

func TestValuesAreTheMemory(t *testing.T) {
	data := make([]byte, 32)
	for i := range 8 {
		binary.NativeEndian.PutUint32(data[4*i:], math.Float32bits(float32(i)/4))
	}
	x := tensor.Tensor{DType: tensor.Float32, Shape: tensor.Shape{2, 4}, Data: data}
	v, err := tensor.Values[float32](x)
	if err != nil || !slices.Equal(v, []float32{0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75}) {
		t.Fatal(v, err)
	}
	v[5] = 9
	if row, err := tensor.Values[float32](x.Row(1)); err != nil || !slices.Equal(row, []float32{1, 9, 1.5, 1.75}) {
		t.Error(row, err)
	}
	if one, err := tensor.Values[bool](tensor.Tensor{DType: tensor.Bool, Shape: tensor.Shape{}, Data: []byte{1}}); err != nil || !slices.Equal(one, []bool{true}) {
		t.Error(one, err)
	}
	if none, err := tensor.Values[int64](tensor.Tensor{DType: tensor.Int64, Shape: tensor.Shape{0, 3}}); err != nil || len(none) != 0 {
		t.Error(none, err)
	}
}

func TestValuesRefuses(t *testing.T) {
	data := make([]byte, 33)
	of := func(d tensor.DType, shape tensor.Shape, strides []int, data []byte) error {
		_, err := tensor.Values[uint32](tensor.Tensor{DType: d, Shape: shape, Strides: strides, Data: data})
		return err
	}
	for want, err := range map[string]error{
		"the elements are int32, not uint32":               of(tensor.Int32, tensor.Shape{8}, nil, data),
		"the elements are float16, not uint32":             of(tensor.Float16, tensor.Shape{8}, nil, data),
		"of [2, 2] with strides [16 4] are not contiguous": of(tensor.Uint32, tensor.Shape{2, 2}, []int{16, 4}, data),
		"the elements are not at multiples of 4 bytes":     of(tensor.Uint32, tensor.Shape{8}, nil, data[1:]),
		"tensor: ": of(tensor.Uint32, tensor.Shape{9}, nil, data),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, expected %q", err, want)
		}
	}
}
