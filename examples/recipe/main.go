// Command recipe reads a recipe from a file and loops over its batches.
//
//	go run ./examples/recipe examples/recipe/train.yaml root=data/train size=160
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/headrace/headrace"
	_ "github.com/headrace/headrace/media/avif" // the decoders on C libraries; without these lines, or without a C compiler, those in Go
	_ "github.com/headrace/headrace/media/spng"
	_ "github.com/headrace/headrace/media/tiff"
	_ "github.com/headrace/headrace/media/turbo"
	_ "github.com/headrace/headrace/media/webp"
	"github.com/headrace/headrace/recipe"
)

func run(ctx context.Context, path string, given []string, out io.Writer) error {
	vars := recipe.Variables{Given: map[string]string{}, Environment: os.LookupEnv}
	for _, text := range given {
		name, value, _ := strings.Cut(text, "=")
		vars.Given[name] = value
	}
	file, err := recipe.ReadFile(path, vars)
	if err != nil {
		return err
	}
	config, err := headrace.FileConfig(file)
	if err != nil {
		return err
	}
	loader, err := headrace.Open(ctx, file.Recipe, config, headrace.Options{})
	if err != nil {
		return file.Locate(err)
	}
	defer loader.Close()
	if err := loader.Start(loader.Info().State, nil); err != nil {
		return err
	}
	for !loader.Epoch().Last {
		for batch, err := range loader.All(ctx) {
			if err != nil {
				return err
			}
			images, _ := batch.Tensor("image")
			if batch.Step() == 0 {
				fmt.Fprintf(out, "epoch %d: %v %v, first %s\n", batch.Epoch(), images.DType, images.Shape, batch.Text("key")[0])
			}
			batch.Release()
		}
		e := loader.Epoch()
		fmt.Fprintf(out, "epoch %d: %d samples in %d batches, %d lost\n", e.Epoch, e.Samples, e.Batches, e.Lost)
	}
	return nil
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: recipe FILE [NAME=VALUE]…")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1], os.Args[2:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "recipe:", err)
		os.Exit(1)
	}
}
