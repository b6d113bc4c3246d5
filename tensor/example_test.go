package tensor_test

import (
	"fmt"

	"github.com/headrace/headrace/tensor"
)

func Example() {
	t := tensor.Tensor{DType: tensor.Int16, Shape: tensor.Shape{2, 3}, Data: make([]byte, 12)}
	all, err := tensor.Values[int16](t)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range all {
		all[i] = int16(i)
	}
	row := t.Row(1) // a view, over the same memory
	values, err := tensor.Values[int16](row)
	fmt.Println(row.DType, row.Shape, values, err)

	_, err = tensor.Values[float32](t)
	fmt.Println(err)
	// Output:
	// int16 [3] [3 4 5] <nil>
	// tensor: the elements are int16, not float32
}
