// Command colours prints the mean colour of every class of a folder of photographs: the
// loader as a Go program uses it.
//
//	go run ./examples/colours FOLDER
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/headrace/headrace"
	_ "github.com/headrace/headrace/media/turbo" // decodes with libjpeg-turbo; without this line Go's own decoder does
	"github.com/headrace/headrace/op/flow"
	"github.com/headrace/headrace/op/image"
	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/recipe"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: colours FOLDER")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "colours:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, folder string, out io.Writer) error {
	const side = 64
	r := recipe.Recipe{Steps: []recipe.Step{
		{Args: &input.Files{Pattern: recipe.Path(folder), Label: "parent"}},
		{Op: "decode_image"},
		{Args: &image.Resize{Size: recipe.Size{Height: side, Width: side}}},
		{Args: &flow.Batch{Size: 32}},
	}}
	loader, err := headrace.Open(ctx, r, headrace.Config{}, headrace.Options{})
	if err != nil {
		return err
	}
	defer loader.Close()
	if err := loader.Start(loader.Info().State, nil); err != nil {
		return err
	}
	sums := make([][3]int, len(loader.Info().Classes))
	counts := make([]int, len(sums))
	for {
		batch, err := loader.Next(ctx)
		if errors.Is(err, io.EOF) { // of the first epoch; Next would go on with the second
			break
		}
		if err != nil {
			return err
		}
		add(batch, sums, counts)
		batch.Release()
	}
	for i, class := range loader.Info().Classes {
		n := max(1, counts[i]*side*side)
		fmt.Fprintf(out, "%-12s #%02x%02x%02x\n", class, sums[i][0]/n, sums[i][1]/n, sums[i][2]/n)
	}
	return nil
}

// add adds up the pixels of a batch by class.
func add(batch *headrace.Batch, sums [][3]int, counts []int) {
	images, _ := batch.Tensor("image")
	labels, _ := batch.Tensor("label")
	pixels := len(images.Data) / batch.Rows()
	for row := range batch.Rows() {
		label := labels.Data[8*row] // int64, and there are fewer than 256 classes
		counts[label]++
		for i, v := range images.Data[row*pixels : (row+1)*pixels] {
			sums[label][i%3] += int(v)
		}
	}
}
