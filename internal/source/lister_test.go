package source_test

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/budget"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/internal/source"
	_ "github.com/headrace/headrace/op"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/flow"
	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	_ "github.com/headrace/headrace/shard/formats"
)

// put writes files, by their names, and returns their folder.
func put(t *testing.T, files map[string]string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// list makes the only source of a recipe for each rank, with what an epoch is divided by.
func list(steps recipe.Chain, world int) (all []*source.Listing, p fuse.Plan, classes []recipe.Path, err error) {
	r := recipe.Recipe{Seed: 3, Steps: append(steps, recipe.Step{Op: "decode_npy"}, recipe.Step{Args: &flow.BucketBatch{
		Lengths: []int{8}, Size: 2,
	}})}.Complete()
	for rank := range world {
		l := source.NewLister(r)
		defer l.Close()
		if _, err := l.Read(context.Background(), r, nil, nil); err != nil {
			return nil, p, nil, err
		}
		if p, err = fuse.Fuse(r); err != nil {
			return nil, p, nil, err
		}
		listed, names, err := l.List(context.Background(), p, rank, world)
		if err != nil {
			return nil, p, nil, err
		}
		listed[0].Split = order.Split{Samples: listed[0].Places(), Batch: int64(2 * world), World: world, Rank: rank, Uneven: true}
		listed[0].Begin(0, nil, nil)
		all, classes = append(all, listed[0]), names
	}
	return all, p, classes, nil
}

// fetched is what a source gives for a sample.
func fetched(t *testing.T, l *source.Listing, p fuse.Plan, index int64) (key, content string, label int64) {
	t.Helper()
	env := &core.Env{}
	columns := record.Columns{Of: map[string]record.Column{}, Table: record.NewTable()}
	schema := p.Samples.Source.Schema()
	for _, f := range schema {
		columns.PutAny(f.Name, f.Type)
	}
	env.Room = columns.Room
	if _, err := l.Link(env, p.Samples.Source, schema, &columns); err != nil {
		t.Fatal(err)
	}
	bytes := budget.New(1 << 20)
	l.Lane = bytes.Lane()
	it := l.Record(0, 0, index)
	if err := l.Fetch(env)(t.Context(), it); err != nil {
		t.Fatal(err)
	}
	key, content, label = it.Values.Texts[columns.Of["key"].At], string(it.Values.Bytes[columns.Of["bytes"].At]), -1
	if at := columns.Of["label"]; at.Kind == record.Numbers {
		label = int64(binary.NativeEndian.Uint64(it.Values.Numbers[at.At:]))
	}
	env.Drop(it)
	if used := bytes.Stats().Used; used != 0 {
		t.Errorf("%d bytes are held", used)
	}
	return key, content, label
}

// All ranks together have each sample once, in an order that depends on the epoch alone;
// any position can be reached at once; and a sample is its file.
func TestRanksHaveEachFileOnce(t *testing.T) {
	files := map[string]string{}
	for i := range 11 {
		files[fmt.Sprintf("class%d/%02d.npy", i%3, i)] = fmt.Sprint("content ", i)
	}
	root := put(t, files)
	paths := slices.SortedFunc(func(yield func(string) bool) {
		for name := range files {
			if !yield(name) {
				return
			}
		}
	}, cmp.Compare)
	rapid.Check(t, func(rt *rapid.T) {
		steps := recipe.Chain{{Args: &input.Files{Pattern: "class*/*.npy", Root: recipe.Path(root), Label: "parent"}}}
		shuffled := rapid.SampledFrom([]string{"no", "all", "windows"}).Draw(rt, "shuffled")
		switch shuffled {
		case "all":
			steps = append(steps, recipe.Step{Op: "shuffle"})
		case "windows":
			steps = append(steps, recipe.Step{Args: &flow.Shuffle{Window: new(rapid.Int64Range(1, 6).Draw(rt, "window"))}})
		}
		world := rapid.IntRange(1, 4).Draw(rt, "world")
		ranks, p, classes, err := list(steps, world)
		if err != nil {
			rt.Fatal(err)
		}
		if !slices.Equal(classes, []recipe.Path{"class0", "class1", "class2"}) {
			rt.Fatalf("%q", classes)
		}

		var orders [][]int64
		for epoch := range 2 {
			var all []int64
			for _, l := range ranks {
				var mine []int64
				for r, err := range l.Items(t.Context(), epoch, 0) {
					id, key := l.Identify(epoch, r.ID.Pos)
					if err != nil || id != r.ID || key != r.Key || r.Key != filepath.Join(root, paths[r.ID.Index]) &&
						r.Key != paths[r.ID.Index] {
						rt.Fatalf("%+v is %s, %v", r.ID, r.Key, err)
					}
					if of, index := l.Locate(epoch)(r.ID.Pos); of != l || index != id.Index {
						rt.Fatalf("%+v is %s, %d", r.ID, of.Name, index)
					}
					mine = append(mine, r.ID.Index)
				}
				from := rapid.IntRange(0, len(mine)).Draw(rt, "from")
				var rest []int64
				for r := range l.Items(t.Context(), epoch, int64(from)) {
					rest = append(rest, r.ID.Index)
				}
				if !slices.Equal(rest, mine[from:]) || int64(len(mine)) != l.Expected() && epoch == 0 {
					rt.Fatalf("from %d on %v come of %v, expected %d", from, rest, mine, l.Expected())
				}
				all = append(all, mine...)
			}
			orders = append(orders, slices.Clone(all))
			if slices.Sort(all); len(all) != 11 || all[0] != 0 || all[10] != 10 || len(slices.Compact(all)) != 11 {
				rt.Fatalf("the epoch has %v", all)
			}
		}
		if same := slices.Equal(orders[0], orders[1]); same != (shuffled == "no") && shuffled != "windows" {
			rt.Fatalf("shuffled: %s, and epochs have %v", shuffled, orders)
		}
		index := rapid.Int64Range(0, 10).Draw(rt, "index")
		key, content, label := fetched(t, ranks[0], p, index)
		name := paths[index]
		if !strings.HasSuffix(key, name) || content != files[name] || classes[label] != recipe.Path(filepath.Dir(name)) {
			rt.Fatalf("%s: %s, %q, label %d", name, key, content, label)
		}
	})
}

// A table beside the files gives them labels, in whatever order it has them; what does
// not fit is an error that says where.
func TestTablesBesideFiles(t *testing.T) {
	files := map[string]string{"a.npy": "A", "b.npy": "B", "c.npy": "C"}
	steps := func(root string) recipe.Chain {
		return recipe.Chain{{Args: &input.Files{Pattern: "*.npy", Root: recipe.Path(root), Metadata: "labels.csv"}}}
	}
	for table, want := range map[string]string{
		"file_name,label\nc.npy,3\na.npy,1\nb.npy,2\n":          "",
		"label,file_name\n1,a.npy\n2,b.npy\n":                   "c.npy",
		"file_name,label\na.npy,1\nb.npy,2\nc.npy,3\na.npy,4\n": "a.npy",
		"file_name,label\na.npy,1\nb.npy,2\nc.npy,3\nd.npy,4\n": "d.npy",
		"name,label\na.npy,1\n":                                 "file_name",
		"":                                                      "labels.csv",
	} {
		files["labels.csv"] = table
		all, p, _, err := list(steps(put(t, files)), 1)
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, source.ErrSource) &&
				!strings.Contains(err.Error(), "metadata") {
				t.Errorf("%q: %v, which does not say %q", table, err, want)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, name := range []string{"a.npy", "b.npy", "c.npy"} {
			if key, content, label := fetched(t, all[0], p, int64(i)); !strings.HasSuffix(key, name) ||
				content != files[name] || label != int64(i+1) {
				t.Errorf("%s: %s, %q, label %d", name, key, content, label)
			}
		}
	}
	if _, _, _, err := list(steps(put(t, map[string]string{"a.npy": "A"})), 1); err == nil ||
		!strings.Contains(err.Error(), `metadata "labels.csv"`) {
		t.Errorf("without the table: %v", err)
	}
}

// Weights are as many as samples, and say how often each comes.
func TestWeightsOfSamples(t *testing.T) {
	root := put(t, map[string]string{"a.npy": "A", "b.npy": "B", "c.npy": "C"})
	of := func(weights ...float64) (int, error) {
		all, _, _, err := list(recipe.Chain{
			{Args: &input.Files{Pattern: "*.npy", Root: recipe.Path(root)}}, {Args: &flow.Weighted{Weights: weights, Draws: 50}},
		}, 1)
		if err != nil {
			return 0, err
		}
		n := 0
		for r, err := range all[0].Items(t.Context(), 0, 0) {
			if err != nil || r.ID.Index == 1 || r.Turn != r.ID.Pos+1 {
				t.Errorf("%+v, %v", r, err)
			}
			n++
		}
		return n, nil
	}
	if n, err := of(1, 0, 3); n != 50 || err != nil {
		t.Errorf("%d samples, %v", n, err)
	}
	if _, err := of(1, 2); !errors.Is(err, core.ErrConfig) || !strings.Contains(err.Error(),
		`weights has 2 numbers, but "files" has 3 samples`) {
		t.Error(err)
	}
}
