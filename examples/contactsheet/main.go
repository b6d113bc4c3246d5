// Command contactsheet draws the first images of a folder, of whatever formats, side
// by side into one file: PNG, JPEG or WebP, as its name says.
//
//	go run ./examples/contactsheet FOLDER SHEET.webp
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/media"
	_ "github.com/headrace/headrace/media/avif"
	_ "github.com/headrace/headrace/media/spng"
	_ "github.com/headrace/headrace/media/tiff"
	_ "github.com/headrace/headrace/media/turbo"
	_ "github.com/headrace/headrace/media/webp"
	"github.com/headrace/headrace/op/flow"
	"github.com/headrace/headrace/op/image"
	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/tensor"
)

const side, across, down = 128, 6, 4

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: contactsheet FOLDER SHEET.png|.jpg|.webp")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "contactsheet:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, folder, name string) error {
	format, err := media.FormatForName(name)
	if err != nil {
		return err
	}
	sheet, err := draw(ctx, folder)
	if err != nil {
		return err
	}
	data, err := media.Encode(nil, sheet, media.EncodeOptions{Format: format})
	if err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o644)
}

// draw puts the first batch of the folder's images into a grid; where there are
// fewer, the rest of it is black.
func draw(ctx context.Context, folder string) (media.Pixels, error) {
	sheet := media.Pixels{Stride: 3 * side * across, Width: side * across, Height: side * down, DType: tensor.Uint8}
	sheet.Data = make([]byte, sheet.Stride*sheet.Height)
	loader, err := headrace.Open(ctx, recipe.Recipe{Steps: []recipe.Step{
		{Args: &input.Files{Pattern: recipe.Path(folder)}},
		{Op: "decode_image"},
		{Args: &image.Resize{Size: recipe.Size{Height: side}}},
		{Args: &image.CenterCrop{Size: recipe.Size{Height: side}}},
		{Args: &flow.Batch{Size: across * down}},
	}}, headrace.Config{}, headrace.Options{})
	if err != nil {
		return sheet, err
	}
	defer loader.Close()
	if err := loader.Start(loader.Info().State, nil); err != nil {
		return sheet, err
	}
	batch, err := loader.Next(ctx)
	if errors.Is(err, io.EOF) {
		return sheet, fmt.Errorf("%s holds no images", folder)
	}
	if err != nil {
		return sheet, err
	}
	defer batch.Release()
	images, _ := batch.Tensor("image")
	for i := range batch.Rows() {
		at := i/across*side*sheet.Stride + i%across*side*3
		for y, pixels := 0, images.Row(i).Data; y < side; y++ {
			copy(sheet.Data[at+y*sheet.Stride:], pixels[y*side*3:][:side*3])
		}
	}
	return sheet, nil
}
