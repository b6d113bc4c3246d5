package fuse_test

import (
	"fmt"

	_ "github.com/headrace/headrace/op"
	"github.com/headrace/headrace/op/flow"
	"github.com/headrace/headrace/op/image"
	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
)

func Example() {
	r := recipe.Recipe{Steps: []recipe.Step{
		{Args: &input.Files{Pattern: "data/train"}},
		{Op: "decode_image"},
		{Args: &image.RandomResizedCrop{Size: recipe.Size{Height: 224}}},
		{Op: "random_flip"},
		{Args: &flow.Batch{Size: 32}},
	}}
	plan, err := fuse.Fuse(r)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, part := range plan.Parts() {
		fmt.Println(part.Name())
	}
	separate, err := fuse.Separate(r)
	for _, part := range separate.Parts() {
		fmt.Println("-", part.Name(), err)
	}
	// Output:
	// decode_image+random_resized_crop+random_flip+batch
	// - decode_image <nil>
	// - random_resized_crop <nil>
	// - random_flip <nil>
	// - batch <nil>
}
