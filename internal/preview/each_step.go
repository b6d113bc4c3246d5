package preview

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/headrace/headrace/internal/sheet"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

// stage is a recipe up to a step that changes pixels.
type stage struct {
	step   string
	recipe recipe.Recipe
}

// DrawEachStep draws a row for each of the first samples, with its image after each step
// that changes pixels. A shorter recipe draws the same random numbers for the steps that
// it has.
func DrawEachStep(ctx context.Context, r Request) (*Preview, error) {
	stages, err := stagesOf(r.Recipe)
	if err != nil {
		return nil, err
	}
	columns := make([][]sheet.Tile, len(stages))
	var last *pictures
	var of int64
	for i, s := range stages {
		if columns[i], last, of, err = r.tiles(ctx, s.recipe); err != nil {
			return nil, err
		}
	}

	p := &Preview{Of: of}
	var tiles []sheet.Tile
	for row, t := range columns[len(columns)-1] {
		p.Samples = append(p.Samples, Sample{t.Key, t.Label, t.Error})
		for i, s := range stages {
			one := tileOf(columns[i], row, t.Key)
			if one.Label = s.step; i > 0 {
				one.Key = ""
			}
			tiles = append(tiles, one)
		}
	}
	drawn := sheet.Sheet{Title: r.Title, Notes: r.notes(p, last), Tiles: tiles, Columns: len(stages), Size: r.Tile}
	if p.Picture, err = drawn.Draw(); err != nil {
		return nil, &Mistake{err}
	}
	return p, nil
}

// stagesOf returns the recipe up to each step that makes or changes an image.
func stagesOf(r recipe.Recipe) (all []stage, err error) {
	r = r.Complete()
	schemas, err := r.Schemas()
	if err != nil {
		return nil, err
	}
	for i, s := range r.Steps {
		if !slices.ContainsFunc(schemas[i], isImage) || len(all) > 0 && !changesPixels(s) {
			continue
		}
		shorter := r
		shorter.Steps = slices.Clone(r.Steps[:i+1])
		all = append(all, stage{s.Name, shorter})
	}
	if all == nil {
		return nil, &Mistake{errors.New("none of its steps makes an image: leave out --each-step")}
	}
	return all, nil
}

func isImage(f sample.Field) bool { return strings.Contains(f.Type.Axes, "C") }

// changesPixels reports whether a step is worth a picture: after others it is the same.
func changesPixels(s recipe.Step) bool {
	on, ok := s.Args.(recipe.Transform)
	if !ok {
		return recipe.TraitsOf(s.Args).Call != nil
	}
	switch on.Transform().(type) {
	case media.Normalize, media.ToLayout:
		return false
	}
	return true
}

// tileOf returns the tile of a sample: the one at its place, or if a step has dropped
// samples before it, the one with its name.
func tileOf(column []sheet.Tile, row int, key string) sheet.Tile {
	if row < len(column) && column[row].Key == key {
		return column[row]
	}
	if i := slices.IndexFunc(column, func(t sheet.Tile) bool { return t.Key == key }); i >= 0 {
		return column[i]
	}
	return sheet.Tile{Key: key, Error: "it is not among the first samples here"}
}
