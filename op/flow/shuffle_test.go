package flow_test

import (
	"cmp"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/loadertest"
	"github.com/headrace/headrace/recipe"
	_ "github.com/headrace/headrace/shard/formats"
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
	return loadertest.Recipe(t, `{"read":{"from":"c4-*.jsonl.gz","root":%q,"fields":["key","text"]}},{"shuffle":{"window":%d}},{"batch":%s}`, folder, window, batch)
}

// With a window, what is unpacked as one is read once, and the samples of several meet.
func TestAWindowReadsWhatIsUnpackedOnce(t *testing.T) {
	leak.Check(t)
	lines := []int{40, 30, 50, 1, 60, 20, 45, 35, 0, 25}
	folder := compressed(t, lines...)
	l := loadertest.Open(t, windowed(t, folder, 100, `{"size":16}`), headrace.Config{Epochs: new(2)}, headrace.Options{})
	var epochs [2][]string
	for epoch := range epochs {
		keys := loadertest.Keys(t, l)
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
		whole := loadertest.Keys(t, loadertest.Open(t, r, headrace.Config{Epochs: new(1), Workers: new(1)}, headrace.Options{}))
		for _, world := range []int{2, 3, 5} {
			batches := make([][]string, (len(whole)+14)/15)
			for rank := range world {
				l := loadertest.Open(t, r, headrace.Config{Epochs: new(1), Rank: rank, WorldSize: world, Workers: new(7)}, headrace.Options{})
				for i := range batches {
					b := loadertest.Next(t, l)
					batches[i] = append(batches[i], b.Text("key")...)
					b.Release()
				}
			}
			if got := slices.Concat(batches...); !slices.Equal(got[:len(whole)], whole) {
				t.Errorf("%d ranks: %v, want %v", world, got, whole)
			}
		}
	}
	if keys := loadertest.UnderWorlds(t, windowed(t, folder, 70, `{"global_size":15}`), 1, 2, 3, 5, 1); len(keys) != 201 {
		t.Errorf("%d samples", len(keys))
	}
}

func TestWindowsThatCannotBe(t *testing.T) {
	folder := compressed(t, 5)
	for window, says := range map[int]string{0: "must be from 1", -1: "must be from 1"} {
		_, err := headrace.Open(t.Context(), windowed(t, folder, window, `{"size":4}`), headrace.Config{}, headrace.Options{})
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "window") {
			t.Errorf("%d: %v", window, err)
		}
	}
}
