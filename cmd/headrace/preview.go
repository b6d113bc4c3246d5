package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/internal/bytesize"
	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/internal/preview"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/store"
)

func previewCommand() *cobra.Command {
	p := previewOptions{samples: 24}
	var options *recipeOptions
	c := &cobra.Command{
		Use:   "preview RECIPE -o SHEET",
		Short: "Draw the first samples as a contact sheet",
		Long: `Draw a contact sheet: the first samples of an epoch after all steps, each with its class and key. The ` +
			`recipe is above, with the type and
shape that training gets.

Pixels are those of the batches, shuffled, cropped and flipped by the recipe's seeds. normalize is reverted, so that you see the image; of
16 bits the upper 8 are shown, and transparency is a checkerboard. A sample that fails has a tile with the reason, and a line on standard
error.`,
		Example: `  headrace preview recipe.yaml -o sheet.png
  headrace preview recipe.yaml -o sheet.webp -n 60 --columns 10 --tile 128
  headrace preview recipe.yaml -o again.png --epoch 1    # other crops
  headrace preview recipe.yaml -o steps.png --each-step  # what each step does
  headrace preview recipe.yaml -o val.jpg --set root=data/val`,
		Args: oneRecipe,
		RunE: func(c *cobra.Command, args []string) error {
			if p.eachStep && !c.Flags().Changed("samples") {
				p.samples = 4
			}
			return p.run(c.Context(), options, args[0], c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f := c.Flags()
	f.StringVarP(&p.out, "output", "o", "", "`file` to write: .png, .jpg or .webp")
	f.IntVarP(&p.samples, "samples", "n", p.samples, "number of samples")
	f.IntVar(&p.epoch, "epoch", 0, "epoch to look at, from 0")
	f.IntVar(&p.columns, "columns", 0, "tiles side by side (default: enough for a wide sheet)")
	f.BoolVar(&p.eachStep, "each-step", false, "draw a row for each sample, with its image after each step (default: 4 samples)")
	f.IntVar(&p.tile, "tile", 0, "longest side of a tile in `pixels` (default: that of the images, between 128 and 256)")
	c.MarkFlagRequired("output")
	c.MarkFlagsMutuallyExclusive("columns", "each-step") // a column for each step
	options = recipeFlags(c, "epochs", "prefetch", "on-error", "max-errors", "order")
	return c
}

// previewOptions are what to draw.
type previewOptions struct {
	out                    string
	samples, columns, tile int
	epoch                  int
	eachStep               bool
}

func (p *previewOptions) check() error {
	return errors.Join(
		outside("--samples", p.samples, 1, preview.MostSamples), outside("--columns", p.columns, 0, preview.MostSamples),
		outside("--tile", p.tile, 0, preview.LargestTile), outside("--epoch", p.epoch, 0, preview.MostEpoch),
	)
}

func outside(flag string, n, least, most int) error {
	if n < least || n > most {
		return fmt.Errorf("%s is %d: must be from %d to %d", flag, n, least, most)
	}
	return nil
}

// writeNamed writes a file, or an object of a store.
func writeNamed(ctx context.Context, name string, data []byte) error {
	path, err := store.Plain(name)
	if err != nil {
		return err
	}
	if _, _, ok := store.Scheme(path); ok {
		_, err := store.Put(ctx, path, data, store.Condition{})
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

func (p *previewOptions) run(ctx context.Context, options *recipeOptions, path string, stdout, stderr io.Writer) error {
	format, err := media.FormatForName(p.out)
	if err := errors.Join(err, p.check()); err != nil {
		return wrongUse(err)
	}
	if _, err := media.EncoderFor(format); err != nil {
		return err
	}

	f, config, err := options.read(path)
	if err != nil {
		return err
	}

	draw := preview.Draw
	if p.eachStep {
		draw = preview.DrawEachStep
	}
	drawn, err := draw(ctx, preview.Request{
		Recipe: f.Recipe, Title: f.Name, Config: config, Samples: p.samples, Epoch: p.epoch, Columns: p.columns, Tile: p.tile,
	})
	if mistake := (*preview.Mistake)(nil); errors.As(err, &mistake) {
		return wrongUse(fmt.Errorf("%s: %w", f.Name, err))
	}
	if err != nil {
		return f.Locate(err)
	}

	for _, s := range drawn.Samples {
		if s.Error != "" {
			fmt.Fprintf(stderr, "headrace: sample %q: %s\n", s.Key, s.Error)
		}
	}

	o := media.EncodeOptions{Format: format}
	if format != media.PNG {
		o.Quality = 90
	}
	data, err := media.Encode(nil, drawn.Picture, o)
	if err != nil {
		return err
	}
	if err := writeNamed(ctx, p.out, data); err != nil {
		return machine.Unwritten(err)
	}

	_, err = fmt.Fprintf(stdout, "%s: %s, %d×%d pixels, %s\n", p.out, words.Plural(int64(len(drawn.Samples)), "sample"),
		drawn.Picture.Width, drawn.Picture.Height, bytesize.Text(int64(len(data))))
	return err
}
