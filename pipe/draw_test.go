package pipe_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// A description prints with names, settings and its places in the source; twice the same.
func TestE7DefinitionPrintsAsATree(t *testing.T) {
	numbers := pipe.From("numbers", pipetest.Numbers{N: 3})
	mapped := pipe.Map(numbers, same, pipe.Opts{Name: "decode", Workers: 8, Ordered: true, Gate: pipe.NewGate(2)})
	skips := pipe.Policy{Skip: true, Count: 3}
	filled := pipe.Fill(mapped, 4, plainStore{4}, writeUnless(), pipe.FillOpts{Name: "fill", Buffer: 5, Failures: &skips})
	batched := pipe.Batch(filled, 2, pipe.BatchOpts{Name: "batch"})
	text := batched.String()
	for i, want := range [][]string{
		{"batch ", "batch of 2, buffer 2 ", "draw_test.go:19"},
		{"fill ", "fill of 4, buffer 5, skips 3 failures ", "draw_test.go:18"},
		{"decode ", "map, 8 workers, buffer 16, ordered, gate of 2 ", "draw_test.go:16"},
		{"numbers ", "source, buffer 16", "draw_test.go:15"},
	} {
		line := strings.Split(text, "\n")[i]
		for _, part := range want {
			if !strings.Contains(line, part) {
				t.Errorf("line %d lacks %q: %s", i, part, line)
			}
		}
	}
	if again := batched.String(); again != text {
		t.Errorf("the second time:\n%s", again)
	}
	var empty pipe.Flow[int]
	if s := empty.String(); !strings.Contains(s, "empty") {
		t.Error(s)
	}
	if s := pipe.Map(empty, same, pipe.Opts{Name: "map"}).String(); !strings.Contains(s, "(empty)") {
		t.Error(s)
	}
}

// A chain of stages is a few lines, and all of them run. E1.
func TestE1ChainOfStages(t *testing.T) {
	f := pipe.From("numbers", pipetest.Numbers{N: 9})
	f = pipe.Map(f, func(_ context.Context, v int) (int, error) { return v * v, nil }, pipe.Opts{Name: "square", Workers: 3, Ordered: true})
	run := start(t, pipe.Batch(f, 4, pipe.BatchOpts{Name: "batch"}), pipe.Config{})
	defer run.Close()
	if got := fmt.Sprint(collect(t, run)); got != "[[0 1 4 9] [16 25 36 49] [64]]" {
		t.Error(got)
	}
	one, two := pipe.Map(f, same, pipe.Opts{Name: "one"}), pipe.Map(f, same, pipe.Opts{Name: "two"})
	var none pipe.Flow[int]
	for want, f := range map[string]pipe.Flow[int]{
		"stage square: its items are taken by two stages, one and two": pipe.Merge([]pipe.Flow[int]{one, two}, pipe.MergeOpts{Name: "merge"}),
		"stage numbers: another stage has the same name":               pipe.Merge([]pipe.Flow[int]{one, pipe.From("numbers", pipetest.Numbers{})}, pipe.MergeOpts{Name: "merge"}),
		"a flow begins with From":                                      none,
	} {
		if again, err := pipe.Start(context.Background(), f, pipe.Config{}); again != nil || !contains(err, want) {
			t.Errorf("wanted %q, got %v", want, err)
		}
	}
}

// The default of Buffer is small where results are batches, and only there.
func TestDefaultBuffers(t *testing.T) {
	numbers := func(name string) pipe.Flow[int] { return pipe.From(name, pipetest.Numbers{N: 3}) }
	keep := func(_ context.Context, b []int) ([]int, error) { return b, nil }
	to := func(context.Context, []int) (int, error) { return 0, nil }
	through := func(in pipe.Flow[[]int]) pipe.Flow[[]int] { return in }

	items := pipe.Map(pipe.Merge([]pipe.Flow[int]{numbers("n"), numbers("m")}, pipe.MergeOpts{Name: "items merge"}), same, pipe.Opts{Name: "items map"})
	batches := pipe.Map(pipe.Batch(items, 2, pipe.BatchOpts{Name: "batches"}), keep, pipe.Opts{Name: "batches map"})
	batches = pipe.Route(batches, to, []func(pipe.Flow[[]int]) pipe.Flow[[]int]{through}, pipe.RouteOpts{Name: "batches route"})
	again := pipe.Filter(pipe.Unbatch(batches, pipe.UnbatchOpts{Name: "items unbatch"}), func(context.Context, int) (bool, error) { return true, nil }, pipe.Opts{Name: "items filter"})
	gathered := pipe.Batch(pipe.Map(again, same, pipe.Opts{Name: "mine", Buffer: 7}), 2, pipe.BatchOpts{Name: "batches again"})

	want := map[string]int{"items": pipe.DefaultBuffer, "batches": pipe.DefaultBatchBuffer, "mine": 7}
	seen := 0
	for line := range strings.Lines(gathered.String()) {
		_, rest, found := strings.Cut(line, "buffer ")
		fields := strings.FieldsFunc(line, func(r rune) bool { return r < 'a' || r > 'z' })
		if len(fields) == 0 || want[fields[0]] == 0 {
			continue
		}
		seen++
		var n int
		if fmt.Sscan(strings.TrimRight(strings.Fields(rest + " ?")[0], ","), &n); !found || n != want[fields[0]] {
			t.Errorf("buffer %d, want %d: %s", n, want[fields[0]], line)
		}
	}
	if seen < 11 {
		t.Errorf("%d lines were looked at:\n%s", seen, gathered)
	}
}
