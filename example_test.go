package headrace_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/op/flow"
	"github.com/headrace/headrace/op/image"
	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/tensor"
)

// drawn makes a folder of images in the folders day and night.
func drawn() string {
	root, err := os.MkdirTemp("", "headrace")
	if err != nil {
		panic(err)
	}
	for i := range 6 {
		p := headrace.Canvas{}.Pixels(media.Form{Height: 40, Width: 60, DType: tensor.Uint8})
		for k := range p.Data {
			p.Data[k] = byte(40 * i)
		}
		data, err := media.Encode(nil, p, media.EncodeOptions{Format: media.PNG})
		if err != nil {
			panic(err)
		}
		folder := filepath.Join(root, []string{"night", "day"}[i/3])
		os.MkdirAll(folder, 0o755)
		os.WriteFile(filepath.Join(folder, fmt.Sprint(i, ".png")), data, 0o644)
	}
	return root
}

func Example() {
	root := drawn()
	defer os.RemoveAll(root)
	r := recipe.Recipe{Seed: 7, Steps: []recipe.Step{
		{Args: &input.Files{Pattern: recipe.Path(root), Label: "parent"}},
		{Op: "decode_image"},
		{Args: &image.Resize{Size: recipe.Size{Height: 16, Width: 24}}},
		{Args: &flow.Batch{Size: 4}},
	}}
	loader, err := headrace.Open(context.Background(), r, headrace.Config{}, headrace.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer loader.Close()
	fmt.Println("classes", loader.Info().Classes)
	if err := loader.Start(loader.Info().State, nil); err != nil {
		fmt.Println(err)
		return
	}
	for batch, err := range loader.All(context.Background()) { // one epoch
		if err != nil {
			fmt.Println(err)
			return
		}
		images, _ := batch.Tensor("image")
		labels, _ := batch.Tensor("label")
		numbers, _ := tensor.Values[int64](labels)
		fmt.Println(images.DType, images.Shape, "labels", numbers, "first", filepath.Base(batch.Text("key")[0]))
		batch.Release()
	}
	// Output:
	// classes [day night]
	// uint8 [4, 16, 24, 3] labels [0 0 0 1] first 3.png
	// uint8 [2, 16, 24, 3] labels [1 1] first 1.png
}

// Brighten adds to all values of an image, and says whether any was cut off.
type Brighten struct {
	By int `json:"by" doc:"what is added, from 0 to 255"`
}

// Picture is what Brighten takes of a sample.
type Picture struct {
	Image media.Pixels `field:"image"`
}

// Brightened is what it gives: the image in its place, and a new field.
type Brightened struct {
	Image media.Pixels `field:"image"`
	Cut   bool         `field:"cut"`
}

// Do implements headrace.Operation.
func (b *Brighten) Do(_ context.Context, in Picture) (Brightened, error) {
	out := Brightened{Image: in.Image}
	for y := range in.Image.Height {
		row := in.Image.Row(y)
		for x, v := range row {
			out.Cut = out.Cut || int(v)+b.By > 255
			row[x] = uint8(min(int(v)+b.By, 255))
		}
	}
	return out, nil
}

func ExampleRegister() {
	err := headrace.Register("brighten", "Makes images brighter.", func() headrace.Operation[Picture, Brightened] { return &Brighten{By: 10} })
	if err != nil {
		fmt.Println(err)
		return
	}
	root := drawn()
	defer os.RemoveAll(root)
	file, err := recipe.Read("example.yaml", []byte(`
headrace: 1
vars: {root: null}
steps:
  - files: {pattern: "${root}"}
  - decode_image
  - brighten: {by: 100}
  - center_crop: {size: 1}
  - batch: {size: 6}
`), recipe.Variables{Given: map[string]string{"root": root}})
	if err != nil {
		fmt.Println(err)
		return
	}
	loader, err := headrace.Open(context.Background(), file.Recipe, headrace.Config{}, headrace.Options{})
	if err != nil {
		fmt.Println(file.Locate(err))
		return
	}
	defer loader.Close()
	for _, s := range loader.Info().Stages {
		fmt.Println(s.Name)
	}
	if err := loader.Start(loader.Info().State, nil); err != nil {
		fmt.Println(err)
		return
	}
	batch, err := loader.Next(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer batch.Release()
	images, _ := batch.Tensor("image")
	cut, _ := batch.Tensor("cut")
	flags, _ := tensor.Values[bool](cut)
	fmt.Println(images.Data, flags)
	// Output:
	// files
	// read
	// decode_image
	// brighten
	// center_crop+batch
	// [220 220 220 255 255 255 255 255 255 100 100 100 140 140 140 180 180 180] [false true true false false false]
}
