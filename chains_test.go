package headrace

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/phototest"
)

// chain draws steps from decode_image to batch, in the notation of recipes.
func chain(t *rapid.T) string {
	pick := func(what string, of ...string) string { return rapid.SampledFrom(of).Draw(t, what) }
	side := func() int { return rapid.IntRange(1, 60).Draw(t, "side") }
	color, dtype := pick("color", "rgb", "rgba", "gray"), pick("dtype", "uint8", "uint8", "uint16")
	filter := func() string { return pick("filter", "bilinear", "box", "hamming", "bicubic", "lanczos") }
	background := ""
	if color != "rgba" && rapid.Bool().Draw(t, "background") {
		background = `,"background":[1,200,30]`
	}
	steps := []string{fmt.Sprintf(`{"decode_image":{"color":%q,"dtype":%q%s}}`, color, dtype, background)}
	add := func(op, format string, args ...any) {
		steps = append(steps, fmt.Sprintf(`{%q:{%s}}`, op, fmt.Sprintf(format, args...)))
	}
	for range rapid.IntRange(0, 6).Draw(t, "steps") {
		switch op := pick("op", "resize", "exact", "resize_to_bucket", "center_crop", "random_crop", "random_resized_crop", "pad", "random_flip",
			"random_vertical_flip", "rotate90", "random_rotate90", "color_jitter", "grayscale", "random_grayscale", "solarize",
			"random_solarize"); op {
		case "resize":
			add(op, `"size":%d,"filter":%q`, side(), filter())
		case "exact":
			add("resize", `"size":[%d,%d],"filter":%q`, side(), side(), filter())
		case "resize_to_bucket":
			add(op, `"sizes":[[%d,%d],[%d,%d]],"filter":%q`, side(), side(), side(), side(), filter())
		case "center_crop":
			add(op, `"size":[%d,%d]`, side(), side())
		case "random_crop": // of what is smaller it is an error, the same with passes and without
			add(op, `"size":[%d,%d]`, min(side(), 30), min(side(), 30))
		case "random_resized_crop":
			add(op, `"size":[%d,%d],"scale":[0.1,1],"filter":%q`, side(), side(), filter())
		case "pad":
			add(op, `"padding":[%d,%d,%d,%d],"fill":%d`, side()%9, side()%9, side()%9, side()%9, rapid.IntRange(0, 255).Draw(t, "fill"))
		case "rotate90":
			add(op, `"turns":%d`, rapid.IntRange(-3, 3).Draw(t, "turns"))
		case "color_jitter":
			if dtype == "uint8" {
				add(op, `"brightness":0.4,"contrast":0.4,"saturation":0.4,"hue":0.2,"p":%s`, pick("chance", "0.5", "1"))
			}
		case "solarize", "random_solarize":
			if dtype == "uint8" {
				add(op, `"threshold":%d`, rapid.IntRange(0, 255).Draw(t, "threshold"))
			}
		case "grayscale":
			add(op, `"channels":1`)
			color = "gray"
		default:
			add(op, `"p":0.5`)
		}
	}
	add("center_crop", `"size":[%d,%d]`, side(), side())
	if color != "rgba" && rapid.Bool().Draw(t, "normalize") {
		add("normalize", `"mean":0.5,"std":0.25,"dtype":%q`, pick("to", "float32", "float16", "bfloat16"))
	}
	if rapid.Bool().Draw(t, "layout") {
		add("layout", `"layout":"NCHW"`)
	}
	return strings.Join(steps, ",")
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
					rt.Fatalf("%s: batch %d, row %d (%s) differs: %s", steps, i, k, one[i][k].key, firstDifference(one[i][k].pixels, many[i][k].pixels))
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
