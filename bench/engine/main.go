// Command engine runs a recipe once through in the program itself: the whole engine,
// and nobody to hand batches to.
//
//	engine WORKERS < RECIPE.json
//
// It is for counting instructions, which valgrind does not do for an engine that
// watches another process.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/recipe"
)

func main() {
	rows, err := run(context.Background(), os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, "engine:", err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stdout, rows)
}

// run returns how many samples the batches had.
func run(ctx context.Context, in io.Reader) (int, error) {
	text, err := io.ReadAll(in)
	if err != nil {
		return 0, err
	}
	if len(os.Args) != 2 {
		return 0, errors.New("usage: engine WORKERS < RECIPE.json")
	}
	workers, err := strconv.Atoi(os.Args[1])
	if err != nil {
		return 0, err
	}
	r, err := recipe.Parse(text)
	if err != nil {
		return 0, err
	}
	epochs := 1
	loader, err := headrace.Open(ctx, r, headrace.Config{Epochs: &epochs, Workers: &workers}, headrace.Options{})
	if err != nil {
		return 0, err
	}
	defer loader.Close()
	if err := loader.Start(loader.Info().State, nil); err != nil {
		return 0, err
	}
	rows := 0
	for {
		batch, err := loader.Next(ctx)
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		rows += batch.Rows()
		batch.Release()
	}
}
