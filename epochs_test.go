package headrace_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	. "github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/sample"
)

// An epoch's numbers are those of the whole epoch, however often it was cut.
func TestAResumedEpochIsCountedWhole(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 37)
	for _, name := range []string{"003.jpg", "017.jpg", "018.jpg"} {
		phototest.Spoil(t, root, name)
	}
	for _, order := range []Order{InputOrder, CompletionOrder} {
		for _, batch := range []string{`{"size":4}`, `{"size":4,"drop_last":true}`} {
			config := Config{Epochs: new(2), OnError: Skip, Workers: new(3), Order: order}
			l := openLoader(t, augmented(t, root, batch), config, Options{})
			want := EpochSummary{Batches: 9, Samples: 34, Lost: 3}
			if strings.Contains(batch, "drop_last") {
				want = EpochSummary{Batches: 8, Samples: 32, Lost: 3}
			}
			for step := int64(0); ; step++ {
				from := l.State()
				if err := l.Start(from, nil); err != nil {
					t.Fatal(err)
				}
				b, err := l.Next(t.Context())
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if b.Epoch() == 1 {
					t.Fatalf("%s %s: the end of epoch 0 was not told", order, batch)
				}
				if b.Step() != step {
					t.Fatalf("%s %s: resumed at %+v, batch %d says it is %d", order, batch, from, step, b.Step())
				}
				if step == want.Batches-1 { // the state after the last batch is the next epoch: this one's end is to be heard now or never
					b.Release()
					if _, err := l.Next(t.Context()); err != io.EOF {
						t.Fatal(err)
					}
					break
				}
				b.Release()
			}
			if got := l.Epoch(); got != want {
				t.Errorf("%s %s: %+v, expected %+v", order, batch, got, want)
			}
		}
	}
}

// placed is a record of a place in the source "files".
func placed(epoch int, at SourceState) State {
	return State{Epoch: epoch, Sources: map[string]SourceState{"files": at}, Batches: (at.Position - int64(len(at.Lost))) / 4}
}

func TestPlacesAtTheEnd(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 10)
	for name, c := range map[string]struct {
		epochs  *int
		from    State
		batches int // of the first epoch
		ended   []EpochSummary
	}{
		"no epochs":                 {new(0), State{}, 0, nil},
		"after the last epoch":      {new(2), State{Epoch: 2}, 0, nil},
		"far after the last":        {new(2), State{Epoch: 5}, 0, nil},
		"the end of the last":       {new(2), placed(1, SourceState{Position: 10}), 0, nil},
		"the end of the first":      {new(2), placed(0, SourceState{Position: 10}), 3, []EpochSummary{{Epoch: 1, Batches: 3, Samples: 10, Last: true}}},
		"only losses are left":      {new(1), placed(0, SourceState{Position: 8, Lost: []int64{9, 8, 9}}), 0, []EpochSummary{{Batches: 1, Samples: 8, Lost: 2, Last: true}}},
		"the last sample is left":   {new(1), placed(0, SourceState{Position: 9, Lost: []int64{3}}), 1, []EpochSummary{{Batches: 3, Samples: 9, Lost: 1, Last: true}}},
		"a date is the epoch":       {nil, State{Epoch: 20261121}, 3, []EpochSummary{{Epoch: 20261121, Batches: 3, Samples: 10}}},
		"holes before the end":      {new(1), placed(0, SourceState{Position: 2, Ahead: [][2]int64{{4, 10}}}), 1, []EpochSummary{{Batches: 1, Samples: 10, Last: true}}},
		"nothing but losses so far": {new(1), placed(0, SourceState{Position: 2, Lost: []int64{0, 1}}), 2, []EpochSummary{{Batches: 2, Samples: 8, Lost: 2, Last: true}}},
	} {
		l := openLoader(t, augmented(t, root, `{"size":4}`), Config{Epochs: c.epochs, OnError: Skip, Memory: new(int64(1 << 20))}, Options{})
		if err := l.Start(c.from, nil); err != nil {
			t.Fatal(name, err)
		}
		batches := 0
		for _, want := range c.ended {
			for {
				b, err := l.Next(t.Context())
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(name, err)
				}
				batches++
				b.Release()
			}
			if got := l.Epoch(); got != want {
				t.Errorf("%s: %+v, expected %+v", name, got, want)
			}
		}
		if batches != c.batches {
			t.Errorf("%s: %d batches, expected %d", name, batches, c.batches)
		}
		if c.epochs == nil {
			continue
		}
		if _, err := l.Next(t.Context()); err != pipe.ErrDone {
			t.Errorf("%s: %v at the end", name, err)
		}
		if s := l.State(); s.Epoch < *c.epochs || s.Sources["files"].Position != 0 {
			t.Errorf("%s: the state at the end is epoch %d, position %d", name, s.Epoch, s.Sources["files"].Position)
		}
	}
}

// Fewer samples than a batch, of which none is left over: epochs are empty, and still
// they end.
func TestEmptyEpochsEnd(t *testing.T) {
	leak.Check(t)
	r := augmented(t, phototest.Folder(t, 3), `{"size":4,"drop_last":true}`)
	for _, epochs := range []*int{nil, new(3)} {
		l := openLoader(t, r, Config{Epochs: epochs}, Options{})
		if n := l.Info().BatchesPerEpoch; n != 0 {
			t.Fatalf("%d batches were promised", n)
		}
		for epoch := range 3 {
			if _, err := l.Next(t.Context()); err != io.EOF {
				t.Fatalf("epoch %d: %v", epoch, err)
			}
			if want := (EpochSummary{Epoch: epoch, Last: epochs != nil && epoch == 2}); l.Epoch() != want {
				t.Fatalf("%+v, expected %+v", l.Epoch(), want)
			}
		}
		if s := l.State(); s.Epoch != 3 {
			t.Fatalf("after three epochs the state is epoch %d", s.Epoch)
		}
	}
}

// A sample's failure may wrap io.EOF, as those of truncated files do. It is no end of
// an epoch.
func TestAFailureThatWrapsEOFEndsNoEpoch(t *testing.T) {
	leak.Check(t)
	l := openLoader(t, augmented(t, phototest.Folder(t, 8), `{"size":4}`), Config{Epochs: new(1)}, Options{})
	for _, end := range []error{io.EOF, pipe.ErrDone} {
		l.Compiled().Flow = pipe.Map(pipe.From(l.Sources()[0].Name, l.Sources()[0]), func(_ context.Context, it *record.Record) (*batch.Batch, error) {
			return nil, &sample.Error{Key: it.Key, Err: end}
		}, pipe.Opts{Name: "fail"})
		if err := l.Start(State{}, nil); err != nil {
			t.Fatal(err)
		}
		var bad *sample.Error
		if _, err := l.Next(t.Context()); !errors.As(err, &bad) || err == end {
			t.Fatalf("%v", err)
		}
		if l.Epoch() != (EpochSummary{}) {
			t.Fatalf("an epoch ended: %+v", l.Epoch())
		}
	}
}

// What a state has lost counts: a run that had lost too many cannot go on by being
// resumed.
func TestAStateThatHasLostTooManyIsTold(t *testing.T) {
	leak.Check(t)
	l := openLoader(t, augmented(t, phototest.Folder(t, 20), `{"size":4}`), Config{OnError: Skip, MaxErrors: ErrorCount(1)}, Options{})
	for _, c := range []struct {
		lost []int64
		bad  bool
	}{{[]int64{2, 1}, true}, {[]int64{2}, false}, {[]int64{2, 2}, false}} {
		if err := l.Start(placed(0, SourceState{Position: 4, Lost: c.lost}), nil); err != nil {
			t.Fatal(err)
		}
		b, err := l.Next(t.Context())
		if errors.Is(err, ErrTooManyLost) != c.bad {
			t.Fatalf("lost %v: %v", c.lost, err)
		}
		if err == nil {
			b.Release()
		}
	}
}
