package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/op/flow"
	opimage "github.com/headrace/headrace/op/image"
	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/recipe"
)

// previewed runs the command and returns what it wrote to each side, and its exit code.
func previewed(t *testing.T, engine string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, words bytes.Buffer
	c := exec.Command(engine, append([]string{"preview"}, args...)...)
	c.Stdout, c.Stderr = &out, &words
	var exit *exec.ExitError
	if err := c.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), words.String(), c.ProcessState.ExitCode()
}

// recipeFile writes a recipe on a folder of photographs: these steps, each a line of
// YAML, between files and batch.
func recipeFile(t *testing.T, root string, steps ...string) string {
	t.Helper()
	all := append([]string{fmt.Sprintf("files: {pattern: %q, label: parent}", root)}, steps...)
	all = append(all, "batch: {size: 5, drop_last: true}")
	name := filepath.Join(t.TempDir(), "recipe.yaml")
	write(t, name, "headrace: 1\nseed: 7\nsteps:\n  - "+strings.Join(all, "\n  - ")+"\n")
	return name
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// sheetOf draws a sheet and reads it by another decoder than ours.
func sheetOf(t *testing.T, recipe string, args ...string) image.Image {
	t.Helper()
	name := filepath.Join(t.TempDir(), "sheet.png")
	engine := program(t)
	if openAVIF != nil { // with the decoders of this test's own loader
		engine = programWithC(t)
	}
	if out, words, code := previewed(t, engine, append([]string{recipe, "-o", name}, args...)...); code != exitDone {
		t.Fatalf("exit code %d: %s%s", code, out, words)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// loaded returns the pixels of the first n samples, as batches of the recipe have them:
// RGB of 8 bits, 64×64.
func loaded(t *testing.T, root string, n int, steps ...recipe.Step) (all [][]byte) {
	t.Helper()
	steps = append([]recipe.Step{{Args: &input.Files{Pattern: recipe.Path(root), Label: "parent"}}}, steps...)
	steps = append(steps, recipe.Step{Args: &flow.Batch{Size: 5}})
	l, err := headrace.Open(context.Background(), recipe.Recipe{Seed: 7, Steps: steps}, headrace.Config{OnError: headrace.Skip}, headrace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.Start(l.Info().State, nil); err != nil {
		t.Fatal(err)
	}
	for len(all) < n {
		b, err := l.Next(context.Background())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		images, _ := b.Tensor("image")
		for i := range b.Rows() {
			all = append(all, bytes.Clone(images.Row(i).Data))
		}
		b.Release()
	}
	return all[:min(n, len(all))]
}

// The steps of tests are these: everything that is drawn at random is in them.
var usualSteps = []recipe.Step{
	{Op: "shuffle"}, {Op: "decode_image"}, {Args: &opimage.RandomResizedCrop{Size: recipe.Size{Height: 64}}}, {Op: "random_flip"},
}

var usualText = []string{"shuffle", "decode_image", "random_resized_crop: {size: 64}", "random_flip"}

const (
	wantSide   = 64 // of images, which are drawn at twice the size
	sheetTimes = 2
)

// tileAt compares a tile with pixels, of which each is a square; off is what a level
// may be off by.
func tileAt(m image.Image, left, top int, want []byte, off int) error {
	for y := range wantSide * sheetTimes {
		for x := range wantSide * sheetTimes {
			r, g, b, _ := m.At(left+x, top+y).RGBA()
			from := want[3*(y/sheetTimes*wantSide+x/sheetTimes):]
			for c, got := range []int{int(r >> 8), int(g >> 8), int(b >> 8)} {
				if d := got - int(from[c]); d > off || -d > off {
					return fmt.Errorf("pixel %d, %d is %d, want %d", x, y, []uint32{r >> 8, g >> 8, b >> 8}, from[:3])
				}
			}
		}
	}
	return nil
}

// The sheet begins with a header, whose height depends on its text: the first tile
// is where its pixels are.
func topOf(t *testing.T, m image.Image, want []byte, off int) int {
	t.Helper()
	for top := range m.Bounds().Dy() - wantSide*sheetTimes {
		if tileAt(m, sheetMargin, top, want, off) == nil {
			return top
		}
	}
	t.Fatal("the first tile is nowhere")
	return 0
}

const sheetMargin, sheetGap = 16, 12

// tiles compares all tiles of a sheet. nil is one that shows an error.
func tiles(t *testing.T, m image.Image, columns int, want [][]byte, off int) {
	t.Helper()
	top := topOf(t, m, want[0], off)
	below := 0
	for i, pixels := range want {
		left := sheetMargin + i%columns*(wantSide*sheetTimes+sheetGap)
		if i == columns { // how far rows are apart depends on the text below them
			for below = wantSide * sheetTimes; below < 3*wantSide && tileAt(m, left, top+below, pixels, off) != nil; below++ {
			}
		}
		at := top + i/columns*below
		if pixels == nil {
			if r, g, b, _ := m.At(left+1, at+1).RGBA(); r>>8 < 2*(g>>8) || r>>8 < b>>8 {
				t.Errorf("tile %d is not an error, its corner is %d %d %d", i, r>>8, g>>8, b>>8)
			}
		} else if err := tileAt(m, left, at, pixels, off); err != nil {
			t.Errorf("tile %d: %v", i, err)
		}
	}
}

// In whatever form training gets its samples, people see the pixels of 8 bits.
func TestPreviewShowsTheSamples(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 12)
	want := loaded(t, root, 8, usualSteps...)
	normalize := "normalize: {mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225], dtype: %s}"
	for name, c := range map[string]struct {
		steps []string
		off   int
	}{
		"uint8":         {nil, 0},
		"uint8, NCHW":   {[]string{"layout: {layout: NCHW}"}, 0},
		"float32":       {[]string{fmt.Sprintf(normalize, "float32")}, 0},
		"float32, NCHW": {[]string{fmt.Sprintf(normalize, "float32"), "layout: {layout: NCHW}"}, 0},
		"float16, NCHW": {[]string{"layout: {layout: NCHW}", fmt.Sprintf(normalize, "float16")}, 0},
		"bfloat16":      {[]string{fmt.Sprintf(normalize, "bfloat16")}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			m := sheetOf(t, recipeFile(t, root, append(usualText[:4:4], c.steps...)...), "-n", "8", "--columns", "4")
			tiles(t, m, 4, want, c.off)
		})
	}
	t.Run("rgba", func(t *testing.T) { // images are opaque
		text := append([]string{}, usualText...)
		text[1] = "decode_image: {color: rgba}"
		tiles(t, sheetOf(t, recipeFile(t, root, text...), "-n", "8", "--columns", "4"), 4, want, 1)
	})
	t.Run("uint16", func(t *testing.T) { // resized in 16 bits, and then cut
		text := append([]string{}, usualText...)
		text[1] = "decode_image: {dtype: uint16}"
		tiles(t, sheetOf(t, recipeFile(t, root, text...), "-n", "8", "--columns", "4"), 4, want, 1)
	})
	t.Run("gray", func(t *testing.T) {
		gray := append([]recipe.Step{}, usualSteps...)
		gray[1] = recipe.Step{Args: &opimage.DecodeImage{Color: "gray"}}
		var want [][]byte
		for _, p := range loaded(t, root, 8, gray...) {
			three := make([]byte, 0, 3*len(p))
			for _, v := range p {
				three = append(three, v, v, v)
			}
			want = append(want, three)
		}
		text := append([]string{}, usualText...)
		text[1] = "decode_image: {color: gray}"
		tiles(t, sheetOf(t, recipeFile(t, root, append(text, "normalize: {mean: 0.5, std: 0.25}")...), "-n", "8", "--columns", "4"), 4, want, 0)
	})
}

// Fewer samples than asked for, or than a batch takes that drops the last: all of them
// are shown.
func TestPreviewOfFewSamples(t *testing.T) {
	root := phototest.Folder(t, 3)
	want := loaded(t, root, 3, usualSteps...)
	tiles(t, sheetOf(t, recipeFile(t, root, usualText...)), 3, want, 0)
}

func TestPreviewOfAnotherEpoch(t *testing.T) {
	root := phototest.Folder(t, 12)
	file := recipeFile(t, root, usualText...)
	first, again, second := sheetOf(t, file), sheetOf(t, file), sheetOf(t, file, "--epoch", "1")
	if !same(first, again) {
		t.Error("two sheets of one epoch differ")
	}
	if same(first, second) {
		t.Error("another epoch has the same samples")
	}
}

func same(a, b image.Image) bool {
	x, y := a.(*image.RGBA), b.(*image.RGBA)
	return bytes.Equal(x.Pix, y.Pix)
}

// A sample that fails has its tile at its place, and is named.
func TestPreviewOfBrokenSamples(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 9)
	for _, name := range []string{"000.jpg", "004.jpg", "005.jpg"} {
		phototest.Spoil(t, root, name)
	}
	// In the order of keys: 000 002 004 006 008 of class0, 001 003 005 007 of class1.
	good := loaded(t, root, 6, usualSteps[1], usualSteps[2], usualSteps[3])
	want := [][]byte{good[0], nil, good[1], good[2], good[3], good[4], nil, good[5]}
	file := recipeFile(t, root, usualText[1:]...)
	out := filepath.Join(t.TempDir(), "sheet.png")
	stdout, stderr, code := previewed(t, programWithC(t), file, "-o", out)
	if code != exitDone || !strings.Contains(stdout, "sheet.png: 9 samples, ") {
		t.Errorf("exit code %d: %s", code, stdout)
	}
	if lines := strings.Split(strings.TrimSpace(stderr), "\n"); len(lines) != 3 || !strings.Contains(lines[0], `class0/000.jpg": decode_image+random_resized_crop+random_flip+batch: media: truncated image`) {
		t.Errorf("%s", stderr)
	}
	// The first sample is one that fails, so the second one is where the sheet is
	// looked for.
	m := sheetOf(t, file, "--columns", "9")
	tiles(t, cut(m, wantSide*sheetTimes+sheetGap), 8, want, 0)

	for i := range 9 {
		if !strings.Contains("000 004 005", fmt.Sprintf("%03d", i)) {
			phototest.Spoil(t, root, fmt.Sprintf("%03d.jpg", i))
		}
	}
	stdout, stderr, code = previewed(t, programWithC(t), file, "-o", out, "-n", "4")
	if code != exitDone || !strings.Contains(stdout, "4 samples") || strings.Count(stderr, "truncated") != 4 {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

// cut is an image without so many columns at its left.
func cut(m image.Image, columns int) image.Image {
	r := m.Bounds()
	r.Min.X += columns
	shown := image.NewRGBA(image.Rect(0, 0, r.Dx(), r.Dy()))
	for y := range r.Dy() {
		for x := range r.Dx() {
			shown.Set(x, y, m.At(r.Min.X+x, r.Min.Y+y))
		}
	}
	return shown
}

// Names of files are anybody's.
func TestPreviewOfHostileNames(t *testing.T) {
	root := phototest.Folder(t, 8)
	for i, name := range []string{"a\nb\x1b[31m.jpg", strings.Repeat("x", 251) + ".jpg", "\u202egpj.exe.jpg", "\xff\xfe.jpg", "שלום.jpg", "你好.jpg", "${root}%s.jpg", " .jpg"} {
		dir := filepath.Join(root, fmt.Sprintf("class%d", i%2))
		if err := os.Rename(filepath.Join(dir, fmt.Sprintf("%03d.jpg", i)), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	want := loaded(t, root, 8, usualSteps...)
	file := recipeFile(t, root, usualText...)
	tiles(t, sheetOf(t, file, "--columns", "4"), 4, want, 0)
	paths, _ := filepath.Glob(root + "/*/*")
	for _, p := range paths {
		if err := os.Truncate(p, 300); err != nil {
			t.Fatal(err)
		}
	}
	_, stderr, code := previewed(t, programWithC(t), file, "-o", filepath.Join(t.TempDir(), "sheet.png"))
	if code != exitDone || strings.Count(stderr, "\n") != 8 || strings.ContainsAny(stderr, "\x1b\u202e") || !utf8.ValidString(stderr) {
		t.Errorf("exit code %d: %q", code, stderr)
	}
}

func TestPreviewFormats(t *testing.T) {
	file := recipeFile(t, phototest.Folder(t, 4), usualText...)
	for suffix, format := range map[string]string{"png": media.PNG, "jpg": media.JPEG, "JPEG": media.JPEG, "webp": media.WebP} {
		name := filepath.Join(t.TempDir(), "sheet."+suffix)
		if _, words, code := previewed(t, programWithC(t), file, "-o", name, "-n", "2", "--tile", "100"); code != exitDone {
			t.Fatalf("exit code %d: %s", code, words)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := media.Probe(data); err != nil || info.Format != format {
			t.Errorf("%s: %v, %v", suffix, info, err)
		}
	}
}

func TestPreviewMistakes(t *testing.T) {
	root := phototest.Folder(t, 2)
	good := recipeFile(t, root, usualText...)
	dir := t.TempDir()
	for name, c := range map[string]struct {
		args []string
		code int
		said string
	}{
		"no output":         {[]string{good}, exitUsage, `required flag(s) "output" not set`},
		"no recipe":         {[]string{"-o", dir + "/a.png"}, exitUsage, "give a recipe: the name of a file"},
		"a format":          {[]string{good, "-o", dir + "/a.tiff"}, exitUsage, "the suffix must be .jpg, .png or .webp"},
		"numbers":           {[]string{good, "-o", dir + "/a.png", "-n", "0", "--columns", "-1", "--tile", "9999", "--epoch", "-1"}, exitUsage, "--samples is 0: must be from 1 to 10000"},
		"a mistake":         {[]string{recipeFile(t, root, "decode_imag"), "-o", dir + "/a.png"}, exitUsage, "recipe.yaml:5:5: "},
		"a missing recipe":  {[]string{dir + "/none.yaml", "-o", dir + "/a.png"}, exitUsage, "no such file"},
		"a missing folder":  {[]string{recipeFile(t, dir+"/none", usualText...), "-o", dir + "/a.png"}, exitFailed, "none"},
		"an output nowhere": {[]string{good, "-o", dir + "/none/a.png"}, exitFailed, "none/a.png: no such file"},
		"large tiles":       {[]string{recipeFile(t, root, "decode_image", "resize: {size: 64}", "center_crop: {size: 64}"), "-o", dir + "/a.png", "--tile", "1000"}, exitDone, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, stderr, code := previewed(t, programWithC(t), c.args...)
			if code != c.code || !strings.Contains(stderr, c.said) {
				t.Errorf("exit code %d, %q", code, stderr)
			}
		})
	}
	if _, stderr, code := previewed(t, program(t), good, "-o", dir+"/a.webp"); code != exitFailed || !strings.Contains(stderr, "WebP is written by media/webp") {
		t.Errorf("exit code %d, %q", code, stderr)
	}
}

// Ctrl-C ends it wherever it is, here among more folders than can be listed, and leaves
// no half of a file.
func TestPreviewInterrupted(t *testing.T) {
	endless := t.TempDir() // two ways from each folder to the next
	for i := range 40 {
		dir := filepath.Join(endless, fmt.Sprint(i))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a", "b"} {
			if err := os.Symlink(fmt.Sprintf("../%d", i+1), filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Mkdir(filepath.Join(endless, "40"), 0o755); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "sheet.png")
	var words bytes.Buffer
	c := exec.Command(program(t), "preview", recipeFile(t, endless+"/0", usualText...), "-o", out)
	c.Stderr = &words
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(300*time.Millisecond, func() { c.Process.Signal(os.Interrupt) })
	c.Wait()
	if _, err := os.Stat(out); c.ProcessState.ExitCode() != exitInterrupted || !os.IsNotExist(err) || words.String() != "headrace: interrupted\n" {
		t.Errorf("exit code %d, %v: %q", c.ProcessState.ExitCode(), err, words.String())
	}
}
