// Command custom-op adds two operations to those of recipes: noise between others, and
// batches by how light images are.
//
//	go run ./examples/custom-op data/train
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/stats"
	"github.com/headrace/headrace/tensor"
)

// grain is the operation; its fields are the arguments.
type grain struct {
	Amount int `json:"amount" doc:"how far a value changes at most" min:"0" max:"255"`
}

// before is the input: the image, and random numbers that are the same whenever the
// sample comes again.
type before struct {
	Image media.Pixels `field:"image"`
	Rand  headrace.Rand
}

// after is the output: the changed image, and a new field of the batch.
type after struct {
	Image     media.Pixels `field:"image"`
	Lightness float32      `field:"lightness"`
}

// Do changes one sample in place. As many calls run at once as there are cores.
func (g *grain) Do(_ context.Context, in before) (after, error) {
	sum := 0
	for y := range in.Image.Height {
		row := in.Image.Row(y)
		for x, v := range row {
			row[x] = uint8(min(max(int(v)+in.Rand.IntN(2*g.Amount+1)-g.Amount, 0), 255))
			sum += int(row[x])
		}
	}
	return after{in.Image, float32(sum) / float32(in.Image.Height*in.Image.Form().RowBytes()) / 255}, nil
}

const steps = `
headrace: 1
vars: {root: null}
steps:
  - files: {pattern: "${root}", label: parent}
  - decode_image
  - random_resized_crop: {size: 96}
  - grain: {amount: 40}
  - random_flip
  - by_lightness: {rows: 16}
`

func run(ctx context.Context, folder string, out io.Writer) error {
	err := headrace.Register("grain", "Add noise to an image.", func() headrace.Operation[before, after] { return &grain{Amount: 10} })
	if err != nil {
		return err
	}
	err = headrace.RegisterBatching("by_lightness", "Put dark images into one batch, light ones into another.",
		func() headrace.Batching[seen] { return &byLightness{Rows: 32} })
	if err != nil {
		return err
	}
	file, err := recipe.Read("steps", []byte(steps), recipe.Variables{Given: map[string]string{"root": folder}})
	if err != nil {
		return err
	}
	loader, err := headrace.Open(ctx, file.Recipe, headrace.Config{}, headrace.Options{})
	if err != nil {
		return file.Locate(err)
	}
	defer loader.Close()
	if err := loader.Start(loader.Info().State, nil); err != nil {
		return err
	}
	for batch, err := range loader.All(ctx) { // one epoch
		if err != nil {
			return err
		}
		field, _ := batch.Tensor("lightness")
		lightness, err := tensor.Values[float32](field)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%d images, the darkest %.2f, the lightest %.2f\n", batch.Rows(), slices.Min(lightness), slices.Max(lightness))
		batch.Release()
	}
	_, err = fmt.Fprintln(out, stats.Text(loader.Stats()))
	return err
}

func main() {
	flag.Parse()
	if err := run(context.Background(), flag.Arg(0), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "custom-op:", err)
		os.Exit(1)
	}
}
