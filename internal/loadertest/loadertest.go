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
	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/pipe"
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
		if slices.Equal(got[i], want[i]) {
			continue
		}
		r := 0
		for r < min(len(got[i]), len(want[i])) && got[i][r] == want[i][r] {
			r++
		}
		t.Fatalf("%s: batch %d has other rows (%d, expected %d; the first other is %d)", what, i, len(got[i]), len(want[i]), r)
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

// Stream runs a loader to its end, from a state if there is one.
func Stream(
	t *testing.T, r recipe.Recipe, c headrace.Config, from *headrace.State, each func(*headrace.Batch, *headrace.Loader),
) *headrace.Loader {
	t.Helper()
	l := Open(t, r, c, headrace.Options{})
	if from != nil {
		if err := l.Start(*from, nil); err != nil {
			t.Fatal(err)
		}
	}
	for {
		b, err := l.Next(t.Context())
		switch err {
		case io.EOF:
		case pipe.ErrDone:
			return l
		case nil:
			each(b, l)
			b.Release()
		default:
			t.Fatal(err)
		}
	}
}

// CutAnywhere compares a run that is cut after every batch with the one that is not.
func CutAnywhere(t *testing.T, r recipe.Recipe, c headrace.Config) {
	t.Helper()
	c.Epochs = new(2)
	var states []headrace.State
	var want [][]Row
	Stream(t, r, c, nil, func(b *headrace.Batch, l *headrace.Loader) {
		states, want = append(states, l.State()), append(want, Rows(t, b))
	})
	for i := 0; i < len(states); i += tier.Cases(3, 1) {
		k := i + 1
		last := Stream(t, r, c, &states[i], func(b *headrace.Batch, l *headrace.Loader) {
			if k >= len(want) {
				t.Fatalf("cut after batch %d: a batch more than the %d without a cut", i, len(want))
			}
			Compare(t, fmt.Sprintf("cut after batch %d, batch %d", i, k), [][]Row{Rows(t, b)}, want[k:k+1])
			if got, uncut := fmt.Sprintf("%+v", l.State()), fmt.Sprintf("%+v", states[k]); got != uncut {
				t.Fatalf("cut after batch %d: the state after batch %d is\n%s, and without the cut\n%s", i, k, got, uncut)
			}
			k++
		})
		if k != len(want) {
			t.Fatalf("cut after batch %d: %d batches of %d", i, k, len(want))
		}
		last.Close()
	}
}

// UnderWorlds has each rank of several worlds make a batch, one world going on where the
// one before it was, and one rank the rest. It returns the keys, which must all differ.
func UnderWorlds(t *testing.T, r recipe.Recipe, worlds ...int) (keys []string) {
	t.Helper()
	var records []headrace.State
	open := func(rank, world int) *headrace.Loader {
		l := Open(t, r, headrace.Config{Epochs: new(1), Rank: rank, WorldSize: world}, headrace.Options{})
		if records != nil {
			from, err := l.Gather(records)
			if err == nil {
				err = l.Start(from, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		return l
	}
	for _, world := range worlds {
		var next []headrace.State
		for rank := range world {
			l := open(rank, world)
			b := Next(t, l)
			keys = append(keys, b.Text("key")...)
			next = append(next, l.State())
			b.Release()
		}
		records = next
	}
	keys = append(keys, Keys(t, open(0, 1))...)
	for i, key := range slices.Sorted(slices.Values(keys)) {
		if i > 0 && key == slices.Sorted(slices.Values(keys))[i-1] {
			t.Errorf("%s came twice", key)
		}
	}
	return keys
}

// Keys drains an epoch of its keys.
func Keys(t *testing.T, l *headrace.Loader) (keys []string) {
	t.Helper()
	for b := range Epoch(t, l) {
		keys = append(keys, b.Text("key")...)
	}
	return keys
}
