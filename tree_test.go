package headrace_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe"
)

// grove is two folders of images, read in two ways, and what a plain loop makes of
// them.
type grove struct {
	t     *testing.T
	paths [2][]string
}

func newGrove(t *testing.T, counts ...int) *grove {
	g := &grove{t: t}
	for i, n := range counts {
		g.paths[i], _ = filepath.Glob(filepath.Join(phototest.Folder(t, n), "*", "*.jpg"))
		slices.Sort(g.paths[i])
	}
	return g
}

func (g *grove) root(i int) string { return filepath.Dir(filepath.Dir(g.paths[i][0])) }

// recipe merges the folders, the first in a random order, and has other steps for each
// class.
func (g *grove) recipe(merge, rest string) recipe.Recipe {
	return parseRecipe(g.t, `{"merge":{"of":[
			[{"files":{"pattern":%q,"root":"/","label":"parent"},"name":"first"},{"shuffle":{"seed":3}},"decode_image",{"random_resized_crop":{"size":16}}],
			[{"files":{"pattern":%q,"root":"/","label":"parent"},"name":"second"},"decode_image",{"resize":{"size":[20,20]}}]]%s}},
		{"route":{"by":"label","branches":[{"when":[0],"steps":["random_flip"]},{"steps":[{"rotate90":{"turns":1}}]}]}},
		{"center_crop":{"size":16}},%s`, g.root(0), g.root(1), merge, rest)
}

// samples is what one folder gives in an epoch, in its order, as the rank of a world of
// this size reads it.
func (g *grove) samples(i, epoch, rank, world int) (all []row) {
	g.t.Helper()
	n := int64(len(g.paths[i]))
	permutation := order.Permute(n, 3, epoch)
	for pos := int64(rank); pos < (n+int64(world)-1)/int64(world)*int64(world); pos += int64(world) {
		index := pos % n // dealt sample by sample, and again from the start where there are fewer than ranks
		if i == 0 {
			index = permutation.At(index)
		}
		all = append(all, g.sample(i, epoch, index))
	}
	return all
}

func (g *grove) sample(i, epoch int, index int64) row {
	path := g.paths[i][index]
	step := func(name string, op media.Op) media.Step { return media.Step{Op: op, ID: order.OpID(name)} }
	steps := []media.Step{step("random_resized_crop", media.RandomResizedCrop{Height: 16, Width: 16})}
	if i == 1 {
		steps = []media.Step{step("resize", media.ResizeExact{Height: 20, Width: 20})}
	}
	label := int64(0)
	if strings.Contains(path, "class1") {
		label = 1
		steps = append(steps, step("rotate90", media.Rotate90{Turns: 1}))
	} else {
		steps = append(steps, step("random_flip", media.RandomFlip{P: 0.5}))
	}
	steps = append(steps, step("center_crop", media.CenterCrop{Height: 16, Width: 16}))
	return row{Key: path, Label: label, Pixels: g.pixels(path, order.NewKey(7, epoch, order.SourceID([]string{"first", "second"}[i]), index), steps)}
}

func (g *grove) pixels(path string, key order.Key, steps []media.Step) string {
	g.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		g.t.Fatal(err)
	}
	info, err := media.Probe(data)
	if err != nil {
		g.t.Fatal(err)
	}
	var plan media.Plan
	if err := media.MakePlan(info, media.Options{Orient: true}, steps, key, &plan); err != nil {
		g.t.Fatal(err)
	}
	decoder, err := media.DecoderFor(media.JPEG)
	if err != nil {
		g.t.Fatal(err)
	}
	pixels := make([]byte, 16*16*3)
	if err := decoder.DecodeInto(pixels, 48, data, &info, &plan); err != nil {
		g.t.Fatal(err)
	}
	return string(pixels)
}

// inTurns takes from each list in turn, until one has nothing for its turn, or until
// all have ended.
func inTurns(lists [2][]row, shortest bool) (all []row) {
	for turn := 0; len(lists[0])+len(lists[1]) > 0; turn++ {
		list := &lists[turn%2]
		if len(*list) == 0 {
			if shortest {
				return all
			}
			continue
		}
		all, *list = append(all, (*list)[0]), (*list)[1:]
	}
	return all
}

func TestTreesAreThoseOfASequentialLoop(t *testing.T) {
	leak.Check(t)
	g := newGrove(t, 21, 10)
	for _, fuse := range []bool{true, false} {
		for _, workers := range []int{1, 2, 7} {
			for until, shortest := range map[string]bool{"": false, `,"until":"shortest"`: true} {
				l := openLoader(t, g.recipe(until, `{"batch":{"size":4}}`), Config{Epochs: new(2), Workers: &workers, Fuse: &fuse}, Options{})
				for epoch := range 2 {
					all := inTurns([2][]row{g.samples(0, epoch, 0, 1), g.samples(1, epoch, 0, 1)}, shortest)
					want := slices.Collect(slices.Chunk(all, 4))
					if i := l.Info(); !i.Exact || i.SamplesPerEpoch != int64(len(all)) || i.BatchesPerEpoch != int64(len(want)) {
						t.Errorf("%d samples and %d batches were promised (exact: %v), of %d", i.SamplesPerEpoch, i.BatchesPerEpoch, i.Exact, len(all))
					}
					compare(t, fmt.Sprintf("%d workers, epoch %d%s", workers, epoch, until), drain(t, l), want)
				}
				i := l.Info()
				if fmt.Sprint(i.Classes) != "[class0 class1]" || i.Samples != 31 || len(i.Sources) != 2 || i.Sources[1].First != 21 || i.Sources[1].Name != "second" {
					t.Errorf("%+v", i)
				}
			}
		}
	}
}

// All ranks take the same turns, so that together they have every sample, and as many
// batches.
func TestRanksShareTrees(t *testing.T) {
	leak.Check(t)
	g := newGrove(t, 21, 10)
	for rank := range 2 {
		l := openLoader(t, g.recipe("", `{"batch":{"size":4}}`), Config{Epochs: new(1), WorldSize: 2, Rank: rank}, Options{})
		want := slices.Collect(slices.Chunk(inTurns([2][]row{g.samples(0, 0, rank, 2), g.samples(1, 0, rank, 2)}, false), 4))
		compare(t, fmt.Sprintf("rank %d", rank), drain(t, l), want)
		if e := l.Epoch(); e.Batches != 4 || e.Wrapped != int64(rank) {
			t.Errorf("rank %d: %+v", rank, e)
		}
	}
}

func TestTreesGoOnAtEveryBatch(t *testing.T) {
	leak.Check(t)
	g := newGrove(t, 21, 10)
	for _, merge := range []string{"", `,"until":"shortest"`, `,"until":17`} {
		cutAnywhere(t, g.recipe(merge, `{"batch":{"size":4}}`), Config{Workers: new(3)})
		cutAnywhere(t, g.recipe(merge, `{"batch":{"size":4,"drop_last":true}}`), Config{Workers: new(2), Fuse: new(false)})
	}
}

// In other orders every sample comes once all the same, whenever a run is cut.
func TestTreesInAnyOrderGiveEverySampleOnce(t *testing.T) {
	leak.Check(t)
	g := newGrove(t, 21, 10)
	want := append(slices.Clone(g.paths[0]), g.paths[1]...)
	want = slices.Sorted(slices.Values(append(want, want...)))
	for _, merge := range []string{"", `,"order":"arrival"`, `,"until":31`} {
		for _, kind := range []Order{InputOrder, CompletionOrder} {
			r := g.recipe(merge, `{"batch":{"size":4}}`)
			for cut := 0; cut < 14; cut += tier.Cases(4, 1) {
				c := Config{Epochs: new(2), Order: kind, Workers: new(4)}
				var keys []string
				l := openLoader(t, r, c, Options{})
				for range cut {
					b, err := l.Next(t.Context())
					if err == io.EOF {
						b, err = l.Next(t.Context())
					}
					if err != nil {
						t.Fatal(err)
					}
					keys = append(keys, b.Text("key")...)
					b.Release()
				}
				from := l.State()
				l.Close()
				stream(t, r, c, &from, func(b *Batch, _ *Loader) { keys = append(keys, b.Text("key")...) })
				if slices.Sort(keys); !slices.Equal(keys, want) {
					t.Fatalf("%s, order %s, cut after %d batches: %d samples of %d", merge, kind, cut, len(keys), len(want))
				}
			}
		}
	}
}

func TestTreesThatCannotRun(t *testing.T) {
	g := newGrove(t, 4, 4)
	for want, c := range map[string]struct {
		merge, rest string
		config      Config
	}{
		"by arrival until the shortest ends, with world_size 2": {`,"order":"arrival","until":"shortest"`, `{"batch":{"size":4}}`, Config{WorldSize: 2}},
		"2 ranks do not divide 5 lanes":                         {"", `{"batch":{"global_size":5}}`, Config{WorldSize: 2}},
	} {
		l, err := Open(t.Context(), g.recipe(c.merge, c.rest), c.config, Options{})
		if err == nil {
			l.Close()
		}
		if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, expected %q", err, want)
		}
	}
}

// Bad samples after merges and routes: what is left of the others comes in the same
// order, and others in their places are of the same source and branch.
func TestTreesWithBadSamplesGoOnAtEveryBatch(t *testing.T) {
	leak.Check(t)
	g := newGrove(t, 21, 10)
	phototest.Spoil(t, g.root(0), "003.jpg")
	phototest.Spoil(t, g.root(0), "004.jpg")
	phototest.Spoil(t, g.root(1), "007.jpg")
	r := g.recipe("", `{"batch":{"size":4}}`)
	for _, c := range []Config{{OnError: Skip}, {OnError: Replace}, {OnError: Skip, Fuse: new(false)}, {OnError: Replace, Fuse: new(false)}} {
		c.Workers = new(3)
		cutAnywhere(t, r, c)
	}
	bad := func(r row) bool {
		first, name := strings.HasPrefix(r.Key, g.root(0)), filepath.Base(r.Key)
		return first && (name == "003.jpg" || name == "004.jpg") || !first && name == "007.jpg"
	}
	// The model cannot decode them; the order of keys tells enough.
	keys := func(l *Loader) (all []string) {
		for _, b := range drain(t, l) {
			for _, r := range b {
				all = append(all, r.Key)
			}
		}
		return all
	}
	var lists [2][]row
	for i := range lists {
		n := int64(len(g.paths[i]))
		permutation := order.Permute(n, 3, 0)
		for pos := range n {
			if i == 0 {
				pos = permutation.At(pos)
			}
			lists[i] = append(lists[i], row{Key: g.paths[i][pos]})
		}
	}
	whole := inTurns(lists, false)
	replaced := keys(openLoader(t, r, Config{Epochs: new(1), OnError: Replace}, Options{}))
	if len(replaced) != len(whole) {
		t.Fatalf("%d samples of %d", len(replaced), len(whole))
	}
	for i, key := range replaced {
		switch was := whole[i]; {
		case !bad(was) && key != was.Key:
			t.Errorf("sample %d is %s, and was %s", i, key, was.Key)
		case bad(was) && (key == was.Key || filepath.Dir(filepath.Dir(key)) != filepath.Dir(filepath.Dir(was.Key))):
			t.Errorf("instead of %s came %s", was.Key, key)
		}
	}
	for i := range lists {
		lists[i] = slices.DeleteFunc(lists[i], bad)
	}
	var skipped []string
	for _, r := range inTurns(lists, false) {
		skipped = append(skipped, r.Key)
	}
	if got := keys(openLoader(t, r, Config{Epochs: new(1), OnError: Skip}, Options{})); !slices.Equal(got, skipped) {
		t.Errorf("%v\nexpected %v", got, skipped)
	}
}
