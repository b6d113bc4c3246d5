package preview

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/sheet"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// Request is what to draw.
type Request struct {
	Recipe  recipe.Recipe
	Title   string
	Config  headrace.Config
	Options headrace.Options

	Samples int // 1 to MostSamples
	Epoch   int // from 0
	Columns int // side by side; 0: a sheet that is wider than high
	Tile    int // longest side of a tile in pixels, at most LargestTile; 0: that of the images, between 128 and 256
}

// MostSamples and LargestTile bound a sheet to what viewers open, MostEpoch a number to
// what JSON keeps.
const MostSamples, LargestTile, MostEpoch = 10_000, 4096, 1 << 53

// Mistake is an error of what was asked for.
type Mistake struct{ Err error }

func (m *Mistake) Error() string { return m.Err.Error() }
func (m *Mistake) Unwrap() error { return m.Err }

// Preview is a contact sheet, and what is on it.
type Preview struct {
	Picture media.Pixels // RGB of 8 bits
	Samples []Sample     // in the order of the epoch
	Of      int64        // how many the epoch has; -1: nobody knows
}

// Sample is one tile.
type Sample struct {
	Key   string
	Label string // empty where samples have none
	Error string // why there is no image; empty where there is one
}

// Draw runs the recipe until there are enough samples, and draws them.
func Draw(ctx context.Context, r Request) (*Preview, error) {
	tiles, pictures, of, err := r.tiles(ctx, r.Recipe)
	if err != nil {
		return nil, err
	}
	p := &Preview{Of: of}
	for _, t := range tiles {
		p.Samples = append(p.Samples, Sample{t.Key, t.Label, t.Error})
	}

	notes := r.notes(p, pictures)
	if folder := commonFolder(tiles); folder != "" {
		notes = append(notes, "keys are below "+folder)
		for i := range tiles {
			tiles[i].Key = tiles[i].Key[len(folder):]
		}
	}

	if p.Picture, err = (sheet.Sheet{Title: r.Title, Notes: notes, Tiles: tiles, Columns: r.Columns, Size: r.Tile}).Draw(); err != nil {
		return nil, &Mistake{err}
	}
	return p, nil
}

// tiles runs a recipe.
func (r Request) tiles(ctx context.Context, of recipe.Recipe) (tiles []sheet.Tile, shown *pictures, samples int64, err error) {
	rows, err := Open(ctx, of, r.Config, r.Options, r.Samples, func(s headrace.Lost) sheet.Tile {
		return sheet.Tile{Key: s.Key, Error: s.Stage + ": " + Reason(s.Err)}
	})
	if err != nil {
		return nil, nil, 0, err
	}
	defer rows.Loader.Close()
	info := rows.Loader.Info()
	if shown, err = newPictures(rows.Loader.Recipe(), info); err == nil {
		tiles, err = rows.Take(ctx, r.Epoch, shown.tile)
	}
	return tiles, shown, info.SamplesPerEpoch, err
}

// commonFolder is what all keys begin with, up to a slash; empty where that is not
// worth a line.
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

func newPictures(r recipe.Recipe, info headrace.Info) (*pictures, error) {
	schema, err := r.Check()
	if err != nil {
		return nil, err
	}
	p := &pictures{classes: info.Classes}
	i := slices.IndexFunc(schema, isImage)
	if i < 0 {
		i = slices.IndexFunc(schema, func(f sample.Field) bool { return f.Type.Axes != "" })
	}
	if i < 0 {
		return p, p.guess(info)
	}
	if p.field = schema[i]; p.field.Type.Axes == media.CHW.String() {
		p.layout = media.CHW
	}
	p.undo = undoOf(r)
	return p, nil
}

// undoOf returns the mean and deviation of a recipe's normalize; nil: it has none.
func undoOf(r recipe.Recipe) (undo *sheet.Undo) {
	for _, s := range r.All() {
		if on, ok := s.Args.(recipe.Transform); ok {
			if op, ok := on.Transform().(media.Normalize); ok {
				undo = &sheet.Undo{Mean: op.Mean, Std: op.Std}
			}
		}
	}
	return undo
}

// guess takes the first array that can be an image: what a function has made may be
// one, and does not say so.
func (p *pictures) guess(info headrace.Info) error {
	var there []string
	for _, f := range info.Fields {
		channels := func(n int) bool { return n == 1 || n == 3 || n == 4 }
		if f.Kind == sample.Tensor && len(f.Shape) == 3 && (channels(f.Shape[2]) || channels(f.Shape[0])) {
			p.field = sample.Field{Name: f.Name, Type: sample.Type{Kind: f.Kind, DType: f.DType, Shape: f.Shape}}
			if !channels(f.Shape[2]) {
				p.layout = media.CHW
			}
			return nil
		}
		there = append(there, f.Name)
	}
	return &Mistake{fmt.Errorf("its samples have no image to draw, only %s", strings.Join(there, ", "))}
}

// tile is that of a row.
func (p *pictures) tile(b *headrace.Batch) (t sheet.Tile, err error) {
	if keys := b.Text("key"); len(keys) > 0 {
		t.Key = strings.Clone(keys[0])
	}
	if label, ok := Label(b); ok {
		t.Label = p.label(label)
	}
	images, _ := b.Tensor(p.field.Name)
	axes := p.field.Type.Axes
	if axes == (media.Form{Color: media.Mask}).Axes() {
		images.Shape = append(slices.Clone(images.Shape), 1)
	}
	if len(images.Shape) > max(len(axes), len(media.HWC.String())) { // else no step makes batches
		images = images.Row(0)
	}
	if moves(axes) {
		images = strip(images, axes)
	}
	t.Picture, err = sheet.Picture(images, p.layout, p.undo)
	return t, err
}

// label is the name of a class, with its number after it.
func (p *pictures) label(n int64) string {
	if n < 0 || n >= int64(len(p.classes)) {
		return fmt.Sprintf("label %d", n)
	}
	return fmt.Sprintf("%s (%d)", p.classes[n], n)
}

// notes are the lines below the sheet's title.
func (r Request) notes(p *Preview, shown *pictures) []string {
	counts := fmt.Sprintf("%d of %d samples", len(p.Samples), p.Of)
	if p.Of < 0 {
		counts = fmt.Sprintf("%d samples", len(p.Samples))
	}

	failed := 0
	for _, s := range p.Samples {
		if s.Error != "" {
			failed++
		}
	}
	if failed > 0 {
		counts += fmt.Sprintf(", of which %d failed", failed)
	}

	axes := map[media.Layout]string{media.HWC: "NHWC", media.CHW: "NCHW"}[shown.layout]
	if moves(shown.field.Type.Axes) {
		axes = shown.field.Type.Axes
	}
	what := fmt.Sprintf("%s %v %v, %s", shown.field.Name, shown.field.Type.DType, shown.field.Type.Shape, axes)
	switch d := shown.field.Type.DType; {
	case d == tensor.Uint16:
		what += "; the upper 8 of 16 bits are shown"
	case shown.undo != nil:
		what += "; shown as value · std + mean, as it was before normalize"
	case d != tensor.Uint8:
		what += "; shown from the least to the greatest value"
	}

	return []string{
		strings.ReplaceAll(r.Recipe.String(), "\n", " · "),
		fmt.Sprintf("%s, epoch %d, seed %d · %s", counts, r.Epoch, r.Recipe.Seed, what),
	}
}
