package headrace_test

import (
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	. "github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/internal/recipetest"
	opimage "github.com/headrace/headrace/op/image"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// chain draws steps from decode_image to batch, in the notation of recipes.
func chain(t *rapid.T) string {
	pick := func(what string, of ...string) string { return rapid.SampledFrom(of).Draw(t, what) }
	color, dtype := pick("color", "rgb", "rgba", "gray"), pick("dtype", "uint8", "uint8", "uint16")
	background := ""
	if color != "rgba" && rapid.Bool().Draw(t, "background") {
		background = `,"background":[1,200,30]`
	}
	text := []string{fmt.Sprintf(`{"decode_image":{"color":%q,"dtype":%q%s}}`, color, dtype, background)}

	pixels := sample.Field{Name: "image", Type: sample.Type{Kind: sample.Tensor, Axes: "HWC"}}
	pixels.Type.DType = map[string]tensor.DType{"uint8": tensor.Uint8, "uint16": tensor.Uint16}[dtype]
	pixels.Type.Shape = tensor.Shape{tensor.Unknown, tensor.Unknown, map[string]int{"rgb": 3, "rgba": 4, "gray": 1}[color]}
	side := rapid.IntRange(1, 60)
	crop := recipe.Step{Args: &opimage.CenterCrop{Size: recipe.Size{Height: side.Draw(t, "height"), Width: side.Draw(t, "width")}}}
	steps, out := recipetest.Pixels(t, 6, sample.Schema{pixels})
	out, err := crop.Args.Check(out)
	if err != nil {
		t.Fatal(err)
	}
	numbers, _ := recipetest.Numbers(t, out)
	for _, s := range slices.Concat(steps, recipe.Chain{crop}, numbers) {
		op, _ := recipe.FindArgs(s.Args)
		args, err := json.Marshal(s.Args)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, fmt.Sprintf(`{%q:%s}`, op.Name, args))
	}
	return strings.Join(text, ",")
}

func TestPassesGiveThePixelsOfTheOneOperation(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 4)
	phototest.Spoil(t, root, "003.jpg")
	drawPNG(t, filepath.Join(root, "class0", "alpha.png"), image.NewNRGBA(image.Rect(0, 0, 31, 45)))
	drawPNG(t, filepath.Join(root, "class1", "deep.png"), image.NewGray16(image.Rect(0, 0, 50, 29)))
	rapid.Check(t, func(rt *rapid.T) {
		steps := chain(rt)
		r := parseRecipe(t, `{"files":{"pattern":%q,"root":"/","label":"parent"}},%s,{"batch":{"size":3}}`, root, steps)
		load := func(fuse bool) ([][]row, []string) {
			var lost []string
			workers := rapid.IntRange(1, 3).Draw(rt, "workers")
			l, err := Open(t.Context(), r, Config{Epochs: new(1), Fuse: &fuse, OnError: Skip, MaxErrors: ErrorRate(1), Workers: &workers},
				Options{Lost: func(l Lost) { lost = append(lost, l.Key) }})
			if err != nil {
				rt.Fatal(err)
			}
			defer l.Close()
			if err := l.Start(l.Info().State, nil); err != nil {
				rt.Fatal(err)
			}
			batches := drain(t, l)
			if m := l.Stats().Memory; m.Used != 0 && len(batches) > 0 {
				l.Close()
				if m := l.Stats().Memory; m.Used != 0 {
					rt.Fatalf("%d bytes are still held", m.Used)
				}
			}
			return batches, lost
		}
		one, oneLost := load(true)
		many, manyLost := load(false)
		if fmt.Sprint(oneLost) != fmt.Sprint(manyLost) {
			rt.Fatalf("%s: lost %v, in passes %v", steps, oneLost, manyLost)
		}
		if len(one) != len(many) {
			rt.Fatalf("%s: %d batches, in passes %d", steps, len(one), len(many))
		}
		for i := range one {
			for k := range one[i] {
				if one[i][k] != many[i][k] {
					rt.Fatalf("%s: batch %d, row %d (%s) differs: %s", steps, i, k, one[i][k].Key,
						firstDifference(one[i][k].Pixels, many[i][k].Pixels))
				}
			}
		}
	})
}

// drawPNG writes an image whose pixels are all different, with every degree of opacity
// where it has an alpha channel.
func drawPNG(t *testing.T, path string, m draw.Image) {
	t.Helper()
	for y := range m.Bounds().Dy() {
		for x := range m.Bounds().Dx() {
			m.Set(x, y, color.NRGBA64{uint16(x * 1999), uint16(y * 1301), uint16(x * y * 41), uint16(x*2111 + y*37)})
		}
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := png.Encode(f, m); err != nil {
		t.Fatal(err)
	}
}

func firstDifference(a, b string) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("byte %d of %d is %d, in passes %d", i, len(a), a[i], b[i])
		}
	}
	return fmt.Sprintf("%d bytes, in passes %d", len(a), len(b))
}
