package pipe_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"testing"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// Every ready source yields the same items in each epoch, and goes on after any item.
func TestReadySources(t *testing.T) {
	for name, source := range map[string]pipe.Source[int]{
		"slice": pipe.Slice(upTo(7)),
		"count": pipe.Count(7),
		"seq":   pipe.Seq(slices.Values(upTo(7))),
		"seq2": pipe.Seq2(func(yield func(int, error) bool) {
			for i := range 7 {
				if !yield(i, nil) {
					return
				}
			}
		}),
		"func": pipe.SourceFunc[int](func(_ context.Context, _ int, pos int64) iter.Seq2[int, error] {
			return pipe.Count(7).Items(context.Background(), 0, pos)
		}),
	} {
		t.Run(name, func(t *testing.T) {
			f := pipe.From("numbers", source)
			for cut := range 15 {
				run := start(t, f, pipe.Config{Until: 2})
				var got []int
				read := func() (err error) {
					v, err := run.Next(t.Context())
					if err == nil {
						got = append(got, v)
					}
					return err
				}
				for range cut {
					if err := read(); err != nil && err != io.EOF {
						t.Fatal(err)
					}
				}
				saved := run.State()
				run.Close()
				run = start(t, f, pipe.Config{Resume: saved, Until: 2})
				for err := error(nil); err == nil || err == io.EOF; {
					err = read()
				}
				run.Close()
				if want := slices.Concat(upTo(7), upTo(7)); !slices.Equal(got, want) {
					t.Errorf("cut at %d: %v", cut, got)
				}
			}
		})
	}
}

// A source that is read from its start gives to Discard what was finished before, and
// errors are their items' failures.
func TestSequencesAreReadFromTheirStart(t *testing.T) {
	var owner pipetest.Owner[int]
	numbers := pipe.Seq2(func(yield func(int, error) bool) {
		for i := range 9 {
			if i == 1 || i == 6 {
				if !yield(0, errBad) {
					return
				}
				continue
			}
			owner.Made(i)
			if !yield(i, nil) {
				return
			}
		}
	})
	f := pipe.Discard(pipe.From("numbers", numbers), owner.Gone)
	config := pipe.Config{Failures: pipe.Policy{Skip: true, Count: pipe.NoLimit}}
	config.Resume = pipe.State{Version: 1, Sources: map[string]pipe.SourceState{"numbers": {Low: 3, Ahead: [][2]int64{{4, 5}}, Lost: []int64{1}}}}
	run := start(t, f, config)
	got, err := drain(run)
	for _, v := range got {
		owner.Gone(v)
	}
	if err != io.EOF || !slices.Equal(got, []int{3, 5, 7, 8}) {
		t.Errorf("%v, %v", got, err)
	}
	run.Close()
	if faults := owner.Faults(); len(faults) > 0 {
		t.Error(faults)
	}
	if err := errors.Join(pipe.From("a", pipe.Seq[int](nil)).Check(), pipe.From("b", pipe.Seq2[int](nil)).Check()); !contains(err, "stage a: the source is nil") || !contains(err, "stage b: the source is nil") {
		t.Error(err)
	}
	endless := start(t, pipe.From("numbers", pipe.Count(-1)), pipe.Config{})
	defer endless.Close()
	for want := range 1000 {
		if v, err := endless.Next(t.Context()); v != want || err != nil {
			t.Fatal(v, err)
		}
	}
}
