// Package loadertest runs loaders in tests of the packages below them, and has a plain
// loop that gives what they should.
package loadertest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe"
)

// Recipe parses the steps of a recipe, with arguments as for [fmt.Sprintf].
func Recipe(t *testing.T, steps string, args ...any) recipe.Recipe {
	t.Helper()
	r, err := recipe.Parse(fmt.Appendf(nil, `{"headrace":1,"seed":7,"steps":[`+steps+`]}`, args...))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Augmented reads a folder in a random order with random crops and flips.
func Augmented(t *testing.T, root, batch string) recipe.Recipe {
	t.Helper()
	return Recipe(t, `{"files":{"pattern":%q,"root":"/","label":"parent"}},{"shuffle":{"seed":3}},
		"decode_image",{"random_resized_crop":{"size":16}},"random_flip",{"batch":%s}`, root, batch)
}

// Open starts a loader, which is closed at the end of the test.
func Open(t *testing.T, r recipe.Recipe, c headrace.Config, o headrace.Options) *headrace.Loader {
	t.Helper()
	l, err := headrace.Open(t.Context(), r, c, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := l.Start(l.Info().State, nil); err != nil {
		t.Fatal(err)
	}
	return l
}

// Next returns the next batch.
func Next(t *testing.T, l *headrace.Loader) *headrace.Batch {
	t.Helper()
	b, err := l.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Epoch yields the batches that are left of an epoch, each released afterwards.
func Epoch(t *testing.T, l *headrace.Loader) iter.Seq[*headrace.Batch] {
	return func(yield func(*headrace.Batch) bool) {
		t.Helper()
		for more := true; more; {
			b, err := l.Next(t.Context())
			if errors.Is(err, io.EOF) {
				return
			} else if err != nil {
				t.Fatal(err)
			}
			more = yield(b)
			b.Release()
		}
	}
}

// RowsUntilError counts the rows before the first error, which may be the end of the
// epoch.
func RowsUntilError(t *testing.T, l *headrace.Loader) (n int, err error) {
	t.Helper()
	for {
		b, err := l.Next(t.Context())
		if err != nil {
			return n, err
		}
		n += b.Rows()
		b.Release()
	}
}

// Row is a sample as a consumer sees it.
type Row struct {
	Key    string
	Label  int64
	Pixels string
}

// Drain returns the batches of an epoch, row by row.
func Drain(t *testing.T, l *headrace.Loader) (all [][]Row) {
	t.Helper()
	for b := range Epoch(t, l) {
		all = append(all, Rows(t, b))
	}
	return all
}

// Rows returns the rows of a batch.
func Rows(t *testing.T, b *headrace.Batch) []Row {
	t.Helper()
	image, ok := b.Tensor("image")
	if !ok || image.Shape[0] != b.Rows() {
		t.Fatalf("the images are %v of %d rows", image.Shape, b.Rows())
	}
	label, _ := b.Tensor("label")
	keys := b.Text("key")
	n := len(image.Data) / b.Rows()
	out := make([]Row, b.Rows())
	for i := range out {
		out[i] = Row{keys[i], int64(binary.NativeEndian.Uint64(label.Data[8*i:])), string(image.Data[i*n : (i+1)*n])}
	}
	return out
}

// Compare reports the first row that differs.
func Compare(t *testing.T, what string, got, want [][]Row) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d batches, expected %d", what, len(got), len(want))
	}
	for i := range got {
		if !slices.Equal(got[i], want[i]) {
			t.Fatalf("%s: batch %d differs", what, i)
		}
	}
}

// Photographs returns the files of a folder of phototest, in their order.
func Photographs(t *testing.T, root string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, "*", "*.jpg"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(paths)
	return paths
}

// AugmentedRow returns the row that an [Augmented] recipe makes of one file.
func AugmentedRow(t *testing.T, paths []string, epoch int, index int64) Row {
	t.Helper()
	steps := []media.Step{
		{Op: media.RandomResizedCrop{Height: 16, Width: 16}, ID: order.OpID("random_resized_crop")},
		{Op: media.RandomFlip{P: 0.5}, ID: order.OpID("random_flip")},
	}
	data, err := os.ReadFile(paths[index])
	if err != nil {
		t.Fatal(err)
	}
	info, err := media.Probe(data)
	if err != nil {
		t.Fatal(err)
	}
	var plan media.Plan
	key := order.NewKey(7, epoch, order.SourceID("files"), index)
	if err := media.MakePlan(info, media.Options{Orient: true}, steps, key, &plan); err != nil {
		t.Fatal(err)
	}
	decoder, err := media.DecoderFor(media.JPEG)
	if err != nil {
		t.Fatal(err)
	}
	pixels := make([]byte, 16*16*3)
	if err := decoder.DecodeInto(pixels, 48, data, &info, &plan); err != nil {
		t.Fatal(err)
	}
	label := int64(0)
	if strings.Contains(paths[index], "class1") {
		label = 1
	}
	return Row{paths[index], label, string(pixels)}
}

// Sequential returns the rows of an epoch of an [Augmented] recipe, by a plain loop over
// the files.
func Sequential(t *testing.T, root string, epoch int, keep func(key string) bool) []Row {
	t.Helper()
	paths := Photographs(t, root)
	permutation := order.Permute(int64(len(paths)), 3, epoch)
	var out []Row
	for pos := range int64(len(paths)) {
		if index := permutation.At(pos); keep(paths[index]) {
			out = append(out, AugmentedRow(t, paths, epoch, index))
		}
	}
	return out
}
