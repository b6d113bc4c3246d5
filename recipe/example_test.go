package recipe_test

import (
	"fmt"

	"github.com/headrace/headrace/op/flow"
	"github.com/headrace/headrace/op/image"
	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/recipe"
)

func Example() {
	r := recipe.Recipe{Seed: 42, Steps: []recipe.Step{
		{Args: &input.Files{Pattern: "data/train/*/*.JPEG", Label: "parent"}},
		{Op: "shuffle"},
		{Op: "decode_image"},
		{Args: &image.RandomResizedCrop{Size: recipe.Size{Height: 224}}},
		{Op: "random_flip"},
		{Args: &flow.Batch{Size: 32}},
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
	// recipe: step "resize" (#3): unknown argument "siez": did you mean "size"? the arguments are size, max_size, filter, fit, anchor, fill, field, fields
}

func ExampleRead() {
	f, err := recipe.Read("train.yaml", []byte(`headrace: 1
vars: {root: data/train, size: 224}
steps:
  - files: {pattern: "${root}/*/*.JPEG", label: parent}
  - decode_image
  - center_crop: {size: "${size}"}
  - batch: {size: 32}
`), recipe.Variables{Given: map[string]string{"size": "192"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	schema, err := f.Check()
	fmt.Println(f.Recipe)
	fmt.Println(schema, err)
	fmt.Println(f.Vars)
	// Output:
	// files(pattern="data/train/*/*.JPEG", label="parent") → decode_image → center_crop(size=192) → batch(size=32)
	// image uint8 [192, 192, 3], label int64, key text <nil>
	// [{root data/train default} {size 192 given}]
}

// Mistakes come with their places, as compilers tell them.
func ExampleFile_Check() {
	f, err := recipe.Read("train.yaml", []byte(`headrace: 1
steps:
  - files: {pattern: data/train}
  - decode_image: {color: grey}
  - batch: {size: 32}
`), recipe.Variables{})
	if err == nil {
		_, err = f.Check()
	}
	fmt.Println(err)
	// Output:
	// train.yaml:4:27: step "decode_image" (#2): color is "grey": did you mean "gray"? must be "rgb", "rgba", "gray" or "mask"
	// train.yaml:5:5: step "batch" (#3): cannot stack images of different sizes: the field "image" is uint8 [?, ?, 3]; put center_crop, random_resized_crop, resize to [height, width] or resize_to_bucket before it
}

func ExampleRecipe_YAML() {
	r := recipe.Recipe{Steps: []recipe.Step{
		{Args: &input.Files{Pattern: "data/*.jpg"}},
		{Op: "shuffle"},
		{Op: "decode_image"},
		{Name: "mirror", Args: &image.RandomFlip{}},
	}}
	fmt.Printf("%s", r.YAML())
	// Output:
	// headrace: 1
	// seed: 0
	// steps:
	//   - files: {pattern: "data/*.jpg", max_bytes: 1073741824}
	//   - shuffle
	//   - decode_image: {field: bytes, to: image, mode: exact, orient: true, color: rgb, dtype: uint8}
	//   - random_flip: {p: 0.5}
	//     name: mirror
}
