package sample_test

import (
	"fmt"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

func Example() {
	s := sample.Schema{{Name: "key", Type: sample.TextType}, {Name: "bytes", Type: sample.BytesType}}
	decoded := s.Replace("bytes", sample.Field{Name: "image", Type: sample.TensorType(tensor.Uint8, tensor.Unknown, tensor.Unknown, 3)})
	fmt.Println(s)
	fmt.Println(decoded)
	fmt.Println("stacks:", decoded[1].Type.Fixed())
	// Output:
	// key text, bytes bytes
	// key text, image uint8 [?, ?, 3]
	// stacks: false
}
