package recipe_test

import (
	"fmt"

	"headrace/recipe"
)

func Example() {
	r := recipe.Recipe{Seed: 42, Steps: []recipe.Step{
		{Args: &recipe.Files{Pattern: "data/train/*/*.JPEG", Label: "parent"}},
		{Op: "shuffle"},
		{Op: "decode_image"},
		{Args: &recipe.RandomResizedCrop{Size: recipe.Size{Height: 224}}},
		{Op: "random_flip"},
		{Args: &recipe.Batch{Size: 32}},
	}}
	schema, err := r.Check()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r)
	fmt.Println(schema)
	// Output:
	// files(pattern="data/train/*/*.JPEG", label="parent") → shuffle → decode_image → random_resized_crop(size=224) → random_flip → batch(size=32)
	// image uint8 [224, 224, 3], label int64, key text
}

func ExampleParse() {
	_, err := recipe.Parse([]byte(`{"headrace": 1, "steps": [
		{"files": {"pattern": "data"}},
		"decode_imgae",
		{"resize": {"siez": "256"}}]}`))
	fmt.Println(err)
	// Output:
	// recipe: step "decode_imgae" (#2): there is no operation "decode_imgae": did you mean "decode_image"?
	// recipe: step "resize" (#3): unknown argument "siez": did you mean "size"? takes size, max_size, filter
}
