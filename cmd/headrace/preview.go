package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"headrace"
	"headrace/internal/bytesize"
	"headrace/internal/sheet"
	"headrace/media"
	"headrace/recipe"
	"headrace/sample"
	"headrace/tensor"
)

func previewCommand() *cobra.Command {
	p := preview{samples: 24}
	var options *recipeOptions
	c := &cobra.Command{
		Use:   "preview RECIPE -o SHEET",
		Short: "Draw the first samples of a recipe into one picture, as training would get them",
		Long: `Draw a contact sheet: the first samples of an epoch with all that the recipe does to them, each with its class and its key. The recipe stands
above, with the type and the shape of what training gets.

The pixels are those of the batches: in the order of the epoch, shuffled, cropped and flipped by the recipe's seeds. Normalized values are turned
back with the recipe's own mean and std, so that people see a photograph; of 16 bits the upper 8 are shown, and what is transparent lets a checkerboard
through. A sample that fails has a tile as well, with the reason in it, and a line on standard error.`,
		Example: `  headrace preview recipe.yaml -o sheet.png
  headrace preview recipe.yaml -o sheet.webp -n 60 --columns 10 --tile 128
  headrace preview recipe.yaml -o again.png --epoch 1            # other crops, another order
  headrace preview recipe.yaml -o val.jpg --set root=data/val`,
		Args: oneRecipe,
		RunE: func(c *cobra.Command, args []string) error {
			return p.run(c.Context(), options, args[0], c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f := c.Flags()
	f.StringVarP(&p.out, "output", "o", "", "`file` to write: .png, .jpg or .webp")
	f.IntVarP(&p.samples, "samples", "n", p.samples, "number of samples")
	f.IntVar(&p.epoch, "epoch", 0, "epoch to look at, from 0")
	f.IntVar(&p.columns, "columns", 0, "tiles side by side (default: a sheet that is wider than high)")
	f.IntVar(&p.tile, "tile", 0, "longest side of a tile in `pixels` (default: that of the pictures, between 128 and 256)")
	c.MarkFlagRequired("output")
	options = recipeFlags(c, "epochs", "prefetch", "on-error", "max-errors", "order")
	return c
}

// preview is what to draw.
type preview struct {
	out                    string
	samples, columns, tile int
	epoch                  int
}

// mostTiles and largestTile bound a sheet to what viewers open.
const mostTiles, largestTile = 10_000, 4096

func (p *preview) check() error {
	return errors.Join(
		outside("--samples", p.samples, 1, mostTiles), outside("--columns", p.columns, 0, mostTiles), outside("--tile", p.tile, 0, largestTile),
		outside("--epoch", p.epoch, 0, 1<<53),
	)
}

func outside(flag string, n, least, most int) error {
	if n < least || n > most {
		return fmt.Errorf("%s is %d: takes %d to %d", flag, n, least, most)
	}
	return nil
}

func (p *preview) run(ctx context.Context, options *recipeOptions, path string, stdout, stderr io.Writer) error {
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
	first, err := p.take(ctx, f, config)
	if err != nil {
		return err
	}
	for _, t := range first.lost {
		fmt.Fprintf(stderr, "headrace: sample %q: %s\n", t.Key, t.Error)
	}
	drawn, err := sheet.Sheet{Title: f.Name, Notes: first.notes, Tiles: first.tiles, Columns: p.columns, Size: p.tile}.Draw()
	if err != nil {
		return wrongUse(err)
	}
	o := media.EncodeOptions{Format: format}
	if format != media.PNG {
		o.Quality = 90
	}
	data, err := media.Encode(nil, drawn, o)
	if err != nil {
		return err
	}
	if err := os.WriteFile(p.out, data, 0o644); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s: %s, %d×%d pixels, %s\n", p.out, plural(int64(len(first.tiles)), "sample"), drawn.Width, drawn.Height, bytesize.Text(int64(len(data))))
	return err
}

// firstSamples are tiles in the order of the epoch, and those of them that failed.
type firstSamples struct {
	notes []string
	tiles []sheet.Tile
	lost  []sheet.Tile
}

// take runs the recipe until there are enough samples.
func (p *preview) take(ctx context.Context, f recipe.File, config headrace.Config) (*firstSamples, error) {
	rows, err := openFirstRows(ctx, f.Recipe, config, p.samples, func(s headrace.Lost) sheet.Tile {
		return sheet.Tile{Key: s.Key, Error: s.Stage + ": " + reason(s.Err)}
	})
	if err != nil {
		return nil, f.Locate(err)
	}
	l := rows.loader
	defer l.Close()
	pictures, err := newPictures(f, l.Info())
	if err != nil {
		return nil, err
	}
	first := &firstSamples{}
	if first.tiles, err = rows.take(ctx, p.epoch, pictures.tile); err != nil {
		return nil, err
	}
	for _, t := range first.tiles {
		if t.Error != "" {
			first.lost = append(first.lost, t)
		}
	}
	first.notes = p.notes(f.Recipe, l.Info(), pictures, first)
	if folder := commonFolder(first.tiles); folder != "" {
		first.notes = append(first.notes, "keys are below "+folder)
		for i := range first.tiles {
			first.tiles[i].Key = first.tiles[i].Key[len(folder):]
		}
	}
	return first, nil
}

// commonFolder is what all keys begin with, up to a slash; empty where that is not worth a line.
func commonFolder(tiles []sheet.Tile) string {
	if len(tiles) < 2 {
		return ""
	}
	common := tiles[0].Key
	for _, t := range tiles {
		n := 0
		for n < len(common) && n < len(t.Key) && common[n] == t.Key[n] {
			n++
		}
		common = common[:n]
	}
	if common = common[:strings.LastIndexByte(common, '/')+1]; len(common) < 8 {
		return ""
	}
	return common
}

// pictures makes tiles of rows.
type pictures struct {
	field   sample.Field
	layout  media.Layout
	undo    *sheet.Undo
	classes []recipe.Path
}

func newPictures(f recipe.File, info headrace.Info) (*pictures, error) {
	schema, err := f.Check()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(schema, func(f sample.Field) bool { return f.Type.Axes != "" })
	if i < 0 {
		return nil, wrongUse(fmt.Errorf("%s: its samples have no picture to draw, only %v", f.Name, schema))
	}
	p := &pictures{field: schema[i], classes: info.Classes}
	if p.field.Type.Axes == media.CHW.String() {
		p.layout = media.CHW
	}
	for _, s := range f.Recipe.All() {
		if n, ok := s.Args.(*recipe.Normalize); ok {
			op, _ := n.Transform().(media.Normalize)
			p.undo = &sheet.Undo{Mean: op.Mean, Std: op.Std}
		}
	}
	return p, nil
}

// tile is that of a row.
func (p *pictures) tile(b *headrace.Batch) (t sheet.Tile, err error) {
	if keys := b.Text("key"); len(keys) > 0 {
		t.Key = strings.Clone(keys[0])
	}
	if label, ok := labelOf(b); ok {
		t.Label = p.label(label)
	}
	images, _ := b.Tensor(p.field.Name)
	t.Picture, err = sheet.Picture(images.Row(0), p.layout, p.undo)
	return t, err
}

// label is the name of a class, with its number behind it.
func (p *pictures) label(n int64) string {
	if n < 0 || n >= int64(len(p.classes)) {
		return fmt.Sprintf("label %d", n)
	}
	return fmt.Sprintf("%s (%d)", p.classes[n], n)
}

// notes are the lines below the sheet's title.
func (p *preview) notes(r recipe.Recipe, info headrace.Info, shown *pictures, first *firstSamples) []string {
	counts := fmt.Sprintf("%s of %s", thousands(int64(len(first.tiles))), plural(info.SamplesPerEpoch, "sample"))
	if n := len(first.lost); n > 0 {
		counts += fmt.Sprintf(", of which %d failed", n)
	}
	what := fmt.Sprintf("%s %v %v, %s", shown.field.Name, shown.field.Type.DType, shown.field.Type.Shape, map[media.Layout]string{media.HWC: "NHWC", media.CHW: "NCHW"}[shown.layout])
	switch d := shown.field.Type.DType; {
	case d == tensor.Uint16:
		what += "; the upper 8 of 16 bits are shown"
	case shown.undo != nil:
		what += "; shown as value · std + mean, as it was before normalize"
	case d != tensor.Uint8:
		what += "; shown from the least to the greatest value"
	}
	return []string{
		strings.ReplaceAll(r.String(), "\n", " · "),
		fmt.Sprintf("%s, epoch %d, seed %d · %s", counts, p.epoch, r.Seed, what),
	}
}
