package headrace

import (
	"cmp"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/op/flow"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe"
	shardindex "github.com/headrace/headrace/shard/index"
)

// compressed writes shards of JSON lines, each of which is unpacked as one.
func compressed(t *testing.T, lines ...int) (folder string) {
	t.Helper()
	t.Setenv(shardindex.Variable, t.TempDir())
	folder = t.TempDir()
	for k, n := range lines {
		f, err := os.Create(filepath.Join(folder, fmt.Sprintf("c4-%02d.jsonl.gz", k)))
		if err != nil {
			t.Fatal(err)
		}
		w := gzip.NewWriter(f)
		for i := range n {
			if _, err := fmt.Fprintf(w, `{"text": "%d of %d", "key": "%02d/%03d"}`+"\n", i, n, k, i); err != nil {
				t.Fatal(err)
			}
		}
		if err := cmp.Or(w.Close(), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func windowed(t *testing.T, folder string, window int, batch string) recipe.Recipe {
	return parseRecipe(t, `{"read":{"from":"c4-*.jsonl.gz","root":%q,"fields":["key","text"]}},{"shuffle":{"window":%d}},{"batch":%s}`, folder, window, batch)
}

// With a window, what is unpacked as one is read once, and the samples of several meet.
func TestAWindowReadsWhatIsUnpackedOnce(t *testing.T) {
	leak.Check(t)
	lines := []int{40, 30, 50, 1, 60, 20, 45, 35, 0, 25}
	folder := compressed(t, lines...)
	l := openLoader(t, windowed(t, folder, 100, `{"size":16}`), Config{Epochs: new(2)}, Options{})
	var epochs [2][]string
	for epoch := range epochs {
		keys := keysOf(t, l)
		epochs[epoch] = keys
		places := map[string][]int{}
		for at, key := range keys {
			shard := key[:2]
			places[shard] = append(places[shard], at)
		}
		within, between := 0, 0
		for shard, at := range places {
			if n := at[len(at)-1] - at[0]; n >= 100+60 {
				t.Errorf("epoch %d: shard %s is from %d to %d", epoch, shard, at[0], at[len(at)-1])
			}
			for i, p := range at[1:] {
				if within++; p != at[i]+1 {
					between++
				}
			}
		}
		if between < within/2 {
			t.Errorf("epoch %d: of %d neighbours of a shard, only %d have others between them", epoch, within, between)
		}
		slices.Sort(keys)
		if len(slices.Compact(keys)) != 306 {
			t.Errorf("epoch %d: %d samples", epoch, len(keys))
		}
	}
	if _, err := l.Next(t.Context()); err == nil {
		t.Error("a third epoch")
	}
}

// The order is the same for any number of ranks and workers, and goes on under others.
func TestWindowsOfRanks(t *testing.T) {
	leak.Check(t)
	folder := compressed(t, 40, 30, 50, 1, 60, 20)
	for _, batch := range []string{`{"global_size":15}`, `{"global_size":15,"drop_last":true}`} {
		r := windowed(t, folder, 70, batch)
		whole := keysOf(t, openLoader(t, r, Config{Epochs: new(1), Workers: new(1)}, Options{}))
		for _, world := range []int{2, 3, 5} {
			batches := make([][]string, (len(whole)+14)/15)
			for rank := range world {
				l := openLoader(t, r, Config{Epochs: new(1), Rank: rank, WorldSize: world, Workers: new(7)}, Options{})
				for i := range batches {
					b := nextOf(t, l)
					batches[i] = append(batches[i], b.Text("key")...)
					b.Release()
				}
			}
			if got := slices.Concat(batches...); !slices.Equal(got[:len(whole)], whole) {
				t.Errorf("%d ranks: %v, want %v", world, got, whole)
			}
		}
	}
	if keys := underWorlds(t, windowed(t, folder, 70, `{"global_size":15}`), 1, 2, 3, 5, 1); len(keys) != 201 {
		t.Errorf("%d samples", len(keys))
	}
}

// Where each sample can be read by itself, the order is that of the package order, and
// the same from shards as from files.
func TestWindowsOfFilesAndShards(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 37)
	folder := archives(t, root, 3)
	window := func(r recipe.Recipe) recipe.Recipe {
		r.Steps[1].Args.(*flow.Shuffle).Window = new(int64(10))
		return r
	}
	files := window(augmented(t, root, `{"size":4}`))
	var want []string
	paths := photographs(t, root)
	w := order.PermuteWindows(order.Runs(37, 10), 10, 3, 0)
	for place := range w.Len() {
		want = append(want, paths[w.At(place)])
	}
	if got := keysOf(t, openLoader(t, files, Config{Epochs: new(1)}, Options{})); !slices.Equal(got, want) {
		t.Errorf("files come as %v, want %v", got, want)
	}
	for i := range want {
		want[i] = shortKey(want[i])
	}
	if got := keysOf(t, openLoader(t, window(fromArchives(t, folder, `{"size":4}`)), Config{Epochs: new(1)}, Options{})); !slices.Equal(got, want) {
		t.Errorf("shards come as %v, want %v", got, want)
	}
	cutAnywhere(t, files, Config{})
}

func TestWindowsThatCannotBe(t *testing.T) {
	folder := compressed(t, 5)
	for window, says := range map[int]string{0: "must be from 1", -1: "must be from 1"} {
		_, err := Open(t.Context(), windowed(t, folder, window, `{"size":4}`), Config{}, Options{})
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "window") {
			t.Errorf("%d: %v", window, err)
		}
	}
}
