package compile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/loadertest"
	_ "github.com/headrace/headrace/shard/formats"
	"github.com/headrace/headrace/tensor"
)

// lines writes a table of JSON lines.
func lines(t *testing.T, rows int) string {
	t.Helper()
	t.Setenv("HEADRACE_CACHE", t.TempDir())
	path := filepath.Join(t.TempDir(), "table.jsonl")
	var text strings.Builder
	for i := range rows {
		fmt.Fprintf(&text, `{"a":%d,"b":%d.5,"word":"w%d"}`+"\n", i, i, i)
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Batches are filled by columns when nothing happens to samples on their way, and row by
// row when something does, or may. The batches are the same.
func TestWhichBatchesAreFilledByColumns(t *testing.T) {
	leak.Check(t)
	path := lines(t, 23)
	const byColumns, byRows = "read batch", "read read samples batch"
	for _, c := range []struct {
		steps  string
		config headrace.Config
		stages string
	}{
		{`{"batch":{"size":4}}`, headrace.Config{}, byColumns},
		{`{"batch":{"size":4,"drop_last":true}}`, headrace.Config{}, byColumns},
		{`{"shuffle":{"seed":3}},{"batch":{"size":4}}`, headrace.Config{}, byColumns},
		{`{"rename":{"fields":{"b":"c"}}},{"drop":{"fields":["c"]}},{"batch":{"size":4}}`, headrace.Config{}, byColumns},
		{`{"batch":{"global_size":8}}`, headrace.Config{WorldSize: 2, Rank: 1}, byColumns},
		{`{"scale":{"fields":["b"],"mean":1,"std":2}},{"hash_buckets":{"fields":["word"],"buckets":9}},{"batch":{"size":4}}`,
			headrace.Config{}, byColumns},
		{`{"copy":{"field":"b","to":["c"]}},{"cast":{"fields":["b"],"dtype":"float32"}},{"drop":{"fields":["word"]}},` +
			`{"clip":{"fields":["a"],"max":5}},{"concat":{"fields":["a","c"],"to":"x"}},{"batch":{"size":4}}`,
			headrace.Config{}, byColumns},
		{`{"batch":{"size":4}},{"scale":{"fields":["b"],"mean":1,"std":2}},{"clip":{"fields":["b"],"min":0}}`,
			headrace.Config{}, byColumns + " open batch reserve scale scale+clip deliver samples"},
		{`{"scale":{"fields":["b"],"mean":1,"std":2},"failures":{"on_error":"skip"}},{"batch":{"size":4}}`,
			headrace.Config{}, "read read samples scale batch"},
		{`{"cast":{"fields":["b"],"dtype":"float32"}},{"clip":{"fields":["b"],"min":0}},{"batch":{"size":4}}`,
			headrace.Config{OnError: headrace.Skip}, "read read samples cast+clip batch"},
		{`{"batch":{"size":4}}`, headrace.Config{OnError: headrace.Replace}, byRows},
		{`{"batch":{"size":4}}`, headrace.Config{OnError: headrace.Skip}, byRows},
		{`{"batch":{"size":4}}`, headrace.Config{Order: headrace.CompletionOrder}, byRows},
	} {
		c.config.Epochs = new(1)
		r := loadertest.Recipe(t, `{"read":{"from":%q,"fields":["a","b","word"]}},`+c.steps, path)
		l := loadertest.Open(t, r, c.config, headrace.Options{})
		if err := l.Start(l.Info().State, nil); err != nil {
			t.Fatal(err)
		}
		for range loadertest.Epoch(t, l) {
		}
		var names []string
		for _, s := range l.Stats().Stages {
			names = append(names, s.Name)
		}
		if got := strings.Join(names, " "); got != c.stages {
			t.Errorf("%s with %+v: the stages are %s, want %s", c.steps, c.config, got, c.stages)
		}
	}
}

// A state that was saved by rows goes on by columns, and the other way.
func TestStatesOfTablesResumeBothWays(t *testing.T) {
	path := lines(t, 23)
	r := loadertest.Recipe(t, `{"read":{"from":%q,"fields":["a"]}},{"shuffle":{"seed":3}},{"batch":{"size":4}}`, path)
	byRows := headrace.Config{Epochs: new(1), OnError: headrace.Replace}
	byColumns := headrace.Config{Epochs: new(1)}
	whole := numbersOf(t, loadertest.Open(t, r, byColumns, headrace.Options{}), nil)

	for _, way := range [][2]headrace.Config{{byRows, byColumns}, {byColumns, byRows}} {
		first := loadertest.Open(t, r, way[0], headrace.Options{})
		if err := first.Start(first.Info().State, nil); err != nil {
			t.Fatal(err)
		}
		var got []int64
		for range 2 {
			b := loadertest.Next(t, first)
			got = append(got, column(t, b)...)
			b.Release()
		}
		state := first.State()
		got = append(got, numbersOf(t, loadertest.Open(t, r, way[1], headrace.Options{}), &state)...)
		if !slices.Equal(got, whole) {
			t.Errorf("%v, want %v", got, whole)
		}
	}
}

func numbersOf(t *testing.T, l *headrace.Loader, from *headrace.State) (all []int64) {
	t.Helper()
	if from == nil {
		from = new(headrace.State)
		*from = l.Info().State
	}
	if err := l.Start(*from, nil); err != nil {
		t.Fatal(err)
	}
	for b := range loadertest.Epoch(t, l) {
		all = append(all, column(t, b)...)
	}
	return all
}

func column(t *testing.T, b *headrace.Batch) []int64 {
	t.Helper()
	a, ok := b.Tensor("a")
	if !ok {
		t.Fatal("there is no column a")
	}
	numbers, err := tensor.Values[int64](a)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(numbers)
}
