package pipe_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/headrace/headrace/pipe"
)

// stretch is numbers that follow each other.
type stretch struct{ from, n int64 }

func (s *stretch) Positions() int64 { return s.n }

// stretches are runs of so many of the numbers below all; the last may be shorter.
func stretches(all, each int64) pipe.Source[*stretch] {
	return pipe.SourceFunc[*stretch](func(_ context.Context, _ int, pos int64) iter.Seq2[*stretch, error] {
		return func(yield func(*stretch, error) bool) {
			for ; pos < all; pos += each {
				if !yield(&stretch{pos, min(each, all-pos)}, nil) {
					return
				}
			}
		}
	})
}

// The position of a failure is that within the item which has failed.
func TestAFailureWithinAnItem(t *testing.T) {
	bad := errors.New("bad")
	flow := pipe.Map(pipe.From("numbers", stretches(10, 4)), func(_ context.Context, s *stretch) (int64, error) {
		if s.from == 4 {
			return 0, pipe.Within(bad, 3)
		}
		return s.from, pipe.Within(nil, 1)
	}, pipe.Opts{Name: "pick"})
	run := start(t, flow, pipe.Config{})
	defer run.Close()
	_, err := run.Next(t.Context())
	if err == nil {
		_, err = run.Next(t.Context())
	}
	var stage *pipe.StageError
	if !errors.As(err, &stage) || stage.Pos != 7 || !errors.Is(err, bad) || stage.Err.Error() != "bad" {
		t.Fatalf("%v, %+v", err, stage)
	}
}

// A state counts positions, not items, and a run that goes on from it has the items after
// them, also in spans of another length.
func TestItemsThatStandForSeveralPositions(t *testing.T) {
	for cut := range 3 {
		run := start(t, pipe.From("numbers", stretches(10, 4)), pipe.Config{})
		for range cut {
			if _, err := run.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		state, low := run.State(), int64(4*cut)
		run.Close()
		if at := state.Sources["numbers"]; at.Low != low || len(at.Ahead) > 0 {
			t.Errorf("after %d items: %+v, want position %d", cut, at, low)
		}

		again := start(t, pipe.From("numbers", stretches(10, 3)), pipe.Config{Resume: state})
		at := low
		for s, err := range again.All() {
			if err != nil || s.from != at || s.n != min(3, 10-at) {
				t.Fatalf("cut after %d items, at %d: %+v, %v", cut, at, s, err)
			}
			at += s.n
		}
		if at != 10 {
			t.Errorf("cut after %d items: the last position is %d", cut, at)
		}
		if out := int64(again.Stats().Stages[0].Out); out != 10-low {
			t.Errorf("the source tells of %d positions, want %d", out, 10-low)
		}
		again.Close()
	}
}

// Fill counts positions too, also of an item that it leaves out.
func TestFillCountsPositions(t *testing.T) {
	store := &spyStore{n: 1}
	write := func(_ context.Context, s *stretch, b *numbered, row int) error {
		if s.n < 4 {
			return pipe.Skip
		}
		b.rows[row] = int(s.from)
		return nil
	}
	flow := pipe.Fill(pipe.From("numbers", stretches(10, 4)), 1, store, write, pipe.FillOpts{Name: "fill", Ordered: true})
	run := start(t, flow, pipe.Config{})
	defer run.Close()
	var got []int
	for b, err := range run.All() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, b.rows...)
	}
	if s := run.Stats().Stages[1]; !slices.Equal(got, []int{0, 4}) || s.In != 10 || s.Skipped != 2 {
		t.Errorf("%v, of %d positions, %d left out", got, s.In, s.Skipped)
	}
}
