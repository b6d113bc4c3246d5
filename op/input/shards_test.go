package input_test

import (
	"archive/tar"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/loadertest"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/op/flow"
	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/shard"
	_ "github.com/headrace/headrace/shard/formats"
	shardindex "github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/storetest"
)

// archives writes the images of a folder into so many tar files, as WebDataset has
// them.
func archives(t *testing.T, root string, shards int) (folder string) {
	t.Helper()
	t.Setenv(shardindex.Variable, t.TempDir())
	folder = t.TempDir()
	paths := loadertest.Photographs(t, root)
	for k := range shards {
		archive(t, filepath.Join(folder, fmt.Sprintf("photos-%02d.tar", k)), paths[k*len(paths)/shards:(k+1)*len(paths)/shards])
	}
	return folder
}

func archive(t *testing.T, path string, photos []string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := tar.NewWriter(f)
	for _, photo := range photos {
		data, err := os.ReadFile(photo)
		if err != nil {
			t.Fatal(err)
		}
		class := strings.TrimPrefix(filepath.Base(filepath.Dir(photo)), "class")
		for _, part := range []struct {
			suffix string
			data   []byte
		}{{"jpg", data}, {"cls", []byte(class)}, {"json", fmt.Appendf(nil, `{"caption": "the photo %s"}`, filepath.Base(photo))}} {
			if err := errors.Join(w.WriteHeader(&tar.Header{Name: shortKey(photo) + "." + part.suffix, Size: int64(len(part.data)), Mode: 0o644}), written(w, part.data)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func written(w *tar.Writer, data []byte) error {
	_, err := w.Write(data)
	return err
}

// shortKey is what a photograph is called in archives.
func shortKey(path string) string {
	return filepath.Base(filepath.Dir(path)) + "/" + strings.TrimSuffix(filepath.Base(path), ".jpg")
}

// fromArchives is augmented, of archives. The step is called as that of files, since
// random numbers depend on its name.
func fromArchives(t *testing.T, folder, batch string) recipe.Recipe {
	return loadertest.Recipe(t, `{"read":{"from":"photos-*.tar","root":%q,"fields":{"bytes":"jpg","label":"cls"}},"name":"files"},{"shuffle":{"seed":3}},
		"decode_image",{"random_resized_crop":{"size":16}},"random_flip",{"batch":%s}`, folder, batch)
}

// fromBucket is fromArchives of a store.
func fromBucket(t *testing.T, from, batch string) recipe.Recipe {
	return loadertest.Recipe(t, `{"read":{"from":%q,"fields":{"bytes":"jpg","label":"cls"}},"name":"files"},{"shuffle":{"seed":3}},
		"decode_image",{"random_resized_crop":{"size":16}},"random_flip",{"batch":%s}`, from, batch)
}

// once opens a loader of one epoch.
func once(t *testing.T, r recipe.Recipe) *headrace.Loader {
	t.Helper()
	return loadertest.Open(t, r, headrace.Config{Epochs: new(1)}, headrace.Options{})
}

// short are rows of files as they are called in archives.
func short(all []loadertest.Row) []loadertest.Row {
	all = slices.Clone(all)
	for i := range all {
		all[i].Key = shortKey(all[i].Key)
	}
	return all
}

// Order, crops and states are the same from tar files and from files.
func TestShardsAreReadAsFilesAre(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 37)
	for _, shards := range []int{1, 5} {
		folder := archives(t, root, shards)
		for _, workers := range []int{1, 16} {
			config := headrace.Config{Epochs: new(2), Workers: &workers}
			l := loadertest.Open(t, fromArchives(t, folder, `{"size":4}`), config, headrace.Options{})
			for epoch := range 2 {
				want := slices.Collect(slices.Chunk(short(loadertest.Sequential(t, root, epoch, func(string) bool { return true })), 4))
				loadertest.Compare(t, fmt.Sprintf("%d shards, %d workers, epoch %d", shards, workers, epoch), loadertest.Drain(t, l), want)
			}
			if _, err := l.Next(t.Context()); !errors.Is(err, pipe.ErrDone) {
				t.Fatal(err)
			}
		}
	}

	folder := archives(t, root, 3)
	var states [2][]headrace.State
	for k, r := range []recipe.Recipe{loadertest.Augmented(t, root, `{"size":4}`), fromArchives(t, folder, `{"size":4}`)} {
		loadertest.Stream(t, r, headrace.Config{Epochs: new(2)}, nil, func(_ *headrace.Batch, l *headrace.Loader) {
			s := l.State()
			at := s.Sources["files"]
			at.Shards, s.Recipe, s.Steps = "", "", nil
			s.Sources = map[string]headrace.SourceState{"files": at}
			states[k] = append(states[k], s)
		})
	}
	if a, b := fmt.Sprintf("%+v", states[0]), fmt.Sprintf("%+v", states[1]); a != b {
		t.Errorf("states of files are\n%s\nand of shards\n%s", a, b)
	}
}

func TestShardsGoOnAtEveryBatch(t *testing.T) {
	leak.Check(t)
	folder := archives(t, phototest.Folder(t, 23), 4)
	loadertest.CutAnywhere(t, fromArchives(t, folder, `{"size":4}`), headrace.Config{})
}

// What is read of a store is what is read of files, whenever a run is cut.
func TestStoresGoOnAtEveryBatch(t *testing.T) {
	leak.Check(t)
	bucket := new(storetest.Memory)
	folder := archives(t, phototest.Folder(t, 23), 4)
	if err := bucket.PutAll("", os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	store.Register("cut", bucket)
	want := loadertest.Drain(t, once(t, fromArchives(t, folder, `{"size":4}`)))
	loadertest.Compare(t, "a store", loadertest.Drain(t, once(t, fromBucket(t, "cut://photos-{00..03}.tar", `{"size":4}`))), want)
	loadertest.CutAnywhere(t, fromBucket(t, "cut://photos-{00..03}.tar", `{"size":4}`), headrace.Config{})
}

func TestRanksShareShards(t *testing.T) {
	leak.Check(t)
	folder := archives(t, phototest.Folder(t, 37), 3)
	whole := loadertest.Drain(t, once(t, fromArchives(t, folder, `{"global_size":8}`)))
	joined := make([][]loadertest.Row, len(whole))
	for rank := range 3 {
		for i, part := range loadertest.Drain(t, loadertest.Open(t, fromArchives(t, folder, `{"global_size":8}`), headrace.Config{Epochs: new(1), Rank: rank, WorldSize: 3}, headrace.Options{})) {
			joined[i] = append(joined[i], part...)
		}
	}
	loadertest.Compare(t, "3 ranks", joined, whole)
}

// Another number of ranks goes on, with every sample once.
func TestShardsUnderOtherWorlds(t *testing.T) {
	leak.Check(t)
	folder := archives(t, phototest.Folder(t, 37), 3)
	r := fromArchives(t, folder, `{"global_size":6}`)
	keys := loadertest.UnderWorlds(t, r, 1, 2, 3, 1)
	if len(keys) != 37 {
		t.Errorf("%d samples of 37", len(keys))
	}
}

// A state goes on where the set was moved to; what has changed is named.
func TestStatesOfShardsThatMoveOrChange(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 24)
	folder := archives(t, root, 4)
	l := once(t, fromArchives(t, folder, `{"size":4}`))
	loadertest.Next(t, l).Release()
	from := l.State()
	rest := loadertest.Drain(t, l)

	moved := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.CopyFS(moved, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	l = once(t, fromArchives(t, moved, `{"size":4}`))
	if err := l.Start(from, nil); err != nil {
		t.Fatal(err)
	}
	loadertest.Compare(t, "moved", loadertest.Drain(t, l), rest)

	bucket := new(storetest.Memory)
	if err := bucket.PutAll("bucket/", os.DirFS(moved)); err != nil {
		t.Fatal(err)
	}
	store.Register("moved", bucket)
	l = once(t, fromBucket(t, "moved://bucket/photos-*.tar", `{"size":4}`))
	if err := l.Start(from, nil); err != nil {
		t.Fatal(err)
	}
	loadertest.Compare(t, "moved to a store", loadertest.Drain(t, l), rest)

	paths := loadertest.Photographs(t, root)
	archive(t, filepath.Join(moved, "photos-02.tar"), append([]string{paths[0]}, paths[13:18]...)) // as many, but others
	l = once(t, fromArchives(t, moved, `{"size":4}`))
	if err := l.Start(from, nil); !errors.Is(err, headrace.ErrState) || !strings.Contains(err.Error(), "photos-02.tar") {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(moved, "photos-03.tar")); err != nil {
		t.Fatal(err)
	}
	l = once(t, fromArchives(t, moved, `{"size":4}`))
	if err := l.Start(from, nil); !errors.Is(err, headrace.ErrState) || !strings.Contains(err.Error(), "there were 4 shards, and now there are 3") {
		t.Error(err)
	}
}

// A shard that is replaced while it is read ends the run, whatever the policy.
func TestAShardThatIsReplaced(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 24)
	folder := archives(t, root, 2)
	l := loadertest.Open(t, fromArchives(t, folder, `{"size":4}`), headrace.Config{Epochs: new(1), OnError: headrace.Skip}, headrace.Options{})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := headrace.Open(t.Context(), fromArchives(t, folder, `{"size":4}`), headrace.Config{Epochs: new(1), OnError: headrace.Skip}, headrace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	archive(t, filepath.Join(folder, "photos-01.tar"), loadertest.Photographs(t, root)[:3])
	if err := l.Start(l.Info().State, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := loadertest.RowsUntilError(t, l); !errors.Is(err, shard.ErrChanged) || !strings.Contains(err.Error(), "photos-01.tar") {
		t.Error(err)
	}
}

// Samples that are bad are skipped and named, as those of files.
func TestBadSamplesOfShards(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 20)
	phototest.Spoil(t, root, "003.jpg")
	folder := archives(t, root, 2)
	var lost []string
	l := loadertest.Open(t, fromArchives(t, folder, `{"size":4}`), headrace.Config{Epochs: new(1), OnError: headrace.Skip}, headrace.Options{Lost: func(l headrace.Lost) { lost = append(lost, l.Key) }})
	want := slices.Collect(slices.Chunk(short(loadertest.Sequential(t, root, 0, func(key string) bool { return filepath.Base(key) != "003.jpg" })), 4))
	loadertest.Compare(t, "skipped", loadertest.Drain(t, l), want)
	if !slices.Equal(lost, []string{"class1/003"}) {
		t.Errorf("%v", lost)
	}
	r := fromArchives(t, folder, `{"size":4}`)
	r.Steps[0].Args.(*input.ReadShards).MaxBytes = 100
	l = once(t, r)
	if _, err := l.Next(t.Context()); err == nil || !strings.Contains(err.Error(), "raise it with max_bytes") {
		t.Error(err)
	}
}

// Text and numbers reach the batch, and fields have the types that are in the files.
func TestFieldsOfShards(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 6)
	folder := archives(t, root, 1)
	l := once(t, loadertest.Recipe(t, `{"read":{"from":"photos-00.tar","root":%q,"fields":{"caption":"json.caption","class":["cls","uint8"],"raw":["cls","text"]}}},{"batch":{"size":6}}`, folder))
	b := loadertest.Next(t, l)
	defer b.Release()
	class, _ := b.Tensor("class")
	for i, path := range loadertest.Photographs(t, root) {
		if got, want := b.Text("caption")[i], "the photo "+filepath.Base(path); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if n := filepath.Base(filepath.Dir(path)); fmt.Sprintf("class%d", class.Data[i]) != n || "class"+b.Text("raw")[i] != n || b.Text("key")[i] != shortKey(path) {
			t.Errorf("%s: class %d, %q, %q", path, class.Data[i], b.Text("raw")[i], b.Text("key")[i])
		}
	}

	for _, c := range []struct{ step, says string }{
		{`{"read":{"from":"photos-00.tar","root":%q,"fields":{"bytes":"jpeg"}}}`, `no such field: "jpeg"; did you mean "jpg"?`},
		{`{"read":{"from":"photos-00.tar","root":%q,"format":"none"}}`, `there is no format "none"`},
		{`{"read":{"from":"nothing.tar","root":%q}}`, "nothing.tar"},
		{`{"read":{"from":"photos-00.tar","root":%q,"gives":{"label":"text"}}}`, `gives says that "label" is text, and in the files it is int64`},
	} {
		_, err := headrace.Open(t.Context(), loadertest.Recipe(t, c.step+`,{"batch":{"size":2}}`, folder), headrace.Config{}, headrace.Options{})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.step, err)
		}
	}
	l = once(t, loadertest.Recipe(t, `{"read":{"from":[%q]}},"decode_image",{"center_crop":{"size":8}},{"batch":{"size":6}}`, folder))
	var names []string
	for _, f := range l.Info().Fields {
		names = append(names, f.Name)
	}
	if got := strings.Join(names, " "); got != "image label json key" {
		t.Errorf("the fields are %s", got)
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
	files := window(loadertest.Augmented(t, root, `{"size":4}`))
	var want []string
	paths := loadertest.Photographs(t, root)
	w := order.PermuteWindows(order.Runs(37, 10), 10, 3, 0)
	for place := range w.Len() {
		want = append(want, paths[w.At(place)])
	}
	if got := loadertest.Keys(t, once(t, files)); !slices.Equal(got, want) {
		t.Errorf("files come as %v, want %v", got, want)
	}
	for i := range want {
		want[i] = shortKey(want[i])
	}
	if got := loadertest.Keys(t, once(t, window(fromArchives(t, folder, `{"size":4}`)))); !slices.Equal(got, want) {
		t.Errorf("shards come as %v, want %v", got, want)
	}
	loadertest.CutAnywhere(t, files, headrace.Config{})
}
