package headrace_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	. "github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/op/flow"
	"github.com/headrace/headrace/recipe"
)

// apart are batches of four that are taken apart and put into batches of three, without a
// function of Python between them.
func apart(t *testing.T, root string) recipe.Recipe {
	r := augmented(t, root, `{"size":4}`)
	r.Steps = append(r.Steps, recipe.Step{Args: &flow.Unbatch{}}, recipe.Step{Args: &flow.Batch{Size: 3}})
	return r
}

// Rows of batches that were taken apart are the samples as they were, also where the
// memory is enough for two of them.
func TestRowsAreTheSamples(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 37)
	for _, c := range []Config{{Workers: new(1)}, {Workers: new(16)}, {Memory: new(int64(1 << 20))}} {
		c.Epochs = new(2)
		l := openLoader(t, apart(t, root), c, Options{})
		if i := l.Info(); i.BatchesPerEpoch != 13 || !i.Exact {
			t.Errorf("%d batches (%t), expected 13", i.BatchesPerEpoch, i.Exact)
		}
		for epoch := range 2 {
			want := slices.Collect(slices.Chunk(sequential(t, root, epoch, all), 3))
			compare(t, fmt.Sprintf("%v workers, epoch %d", c.Workers, epoch), drain(t, l), want)
		}
	}
}

// A run goes on from within batches that were taken apart, also where samples were lost.
func TestResumeWithinBatchesThatWereApart(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 19)
	for _, name := range []string{"003.jpg", "017.jpg"} {
		phototest.Spoil(t, root, name)
	}
	config := Config{Epochs: new(1), OnError: Skip, Workers: new(3)}
	var states []State
	var want [][]row
	l := openLoader(t, apart(t, root), config, Options{})
	for b := range inEpoch(t, l) {
		states, want = append(states, l.State()), append(want, rows(t, b))
	}
	if len(want) != 6 {
		t.Fatalf("%d batches, expected 6", len(want))
	}
	for i, from := range states[:len(states)-1] {
		l := openLoader(t, apart(t, root), config, Options{})
		if err := l.Start(from, nil); err != nil {
			t.Fatal(err)
		}
		compare(t, fmt.Sprintf("cut after batch %d", i), drain(t, l), want[i+1:])
	}
}

// Without batch, each sample is given out by itself, in whatever shape.
func TestSamplesWithoutBatches(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 7)
	r := parseRecipe(t, `{"files":{"pattern":%q,"root":"/"}},"decode_image",{"layout":{"layout":"NCHW"}}`, root)
	l := openLoader(t, r, Config{Epochs: new(1)}, Options{})
	shapes := map[string]bool{}
	for _, path := range photographs(t, root) {
		b := nextOf(t, l)
		image, ok := b.Tensor("image")
		if key := b.Text("key"); !ok || len(image.Shape) != 3 || image.Shape[0] != 3 || len(key) != 1 || key[0] != path {
			t.Errorf("%q: %v of %q", path, image.Shape, key)
		}
		shapes[image.Shape.String()] = true
		b.Release()
	}
	if _, err := l.Next(t.Context()); !errors.Is(err, io.EOF) || len(shapes) < 2 {
		t.Errorf("%v; shapes %v", err, shapes)
	}
}
