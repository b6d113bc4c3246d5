package headrace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/headrace/headrace"
	"github.com/headrace/headrace/arena"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/loadertest"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/pipe"
)

// The names that these tests have for what all tests of loaders share.
type row = loadertest.Row

var (
	parseRecipe    = loadertest.Recipe
	augmented      = loadertest.Augmented
	openLoader     = loadertest.Open
	nextOf         = loadertest.Next
	inEpoch        = loadertest.Epoch
	rowsUntilError = loadertest.RowsUntilError
	drain          = loadertest.Drain
	rows           = loadertest.Rows
	compare        = loadertest.Compare
	photographs    = loadertest.Photographs
	sequential     = loadertest.Sequential
	stream         = loadertest.Stream
	cutAnywhere    = loadertest.CutAnywhere
)

// inAll yields the batches that are left of all epochs.
func inAll(t *testing.T, l *Loader) iter.Seq[*Batch] {
	return func(yield func(*Batch) bool) {
		t.Helper()
		for more := true; more; {
			b, err := l.Next(t.Context())
			switch {
			case errors.Is(err, pipe.ErrDone):
				return
			case errors.Is(err, io.EOF):
			case err != nil:
				t.Fatal(err)
			default:
				more = yield(b)
				b.Release()
			}
		}
	}
}

func all(string) bool { return true }

func TestBatchesAreThoseOfASequentialLoop(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 37)
	for _, workers := range []int{1, 2, 16} {
		l := openLoader(t, augmented(t, root, `{"size":4}`), Config{Epochs: new(2), Workers: &workers}, Options{})
		for epoch := range 2 {
			want := slices.Collect(slices.Chunk(sequential(t, root, epoch, all), 4))
			compare(t, fmt.Sprintf("%d workers, epoch %d", workers, epoch), drain(t, l), want)
		}
		if _, err := l.Next(t.Context()); !errors.Is(err, pipe.ErrDone) {
			t.Fatalf("after the last epoch: %v", err)
		}
	}
}

func TestSkippedSamplesLeaveFullBatches(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 37)
	bad := []string{"003.jpg", "017.jpg", "018.jpg", "036.jpg"}
	for _, name := range bad {
		phototest.Spoil(t, root, name)
	}
	good := func(key string) bool { return !slices.Contains(bad, filepath.Base(key)) }
	want := slices.Collect(slices.Chunk(sequential(t, root, 0, good), 4))
	for _, workers := range []int{1, 2, 8} {
		var lost []string
		l := openLoader(t, augmented(t, root, `{"size":4}`), Config{Epochs: new(1), Workers: &workers, OnError: Skip},
			Options{Lost: func(l Lost) { lost = append(lost, filepath.Base(l.Key)) }})
		compare(t, fmt.Sprintf("%d workers", workers), drain(t, l), want)
		if slices.Sort(lost); !slices.Equal(lost, bad) {
			t.Fatalf("lost %v, expected %v", lost, bad)
		}
		if e := l.Epoch(); e.Lost != 4 || e.Samples != 33 || !e.Last {
			t.Fatalf("%+v", e)
		}
	}
}

func TestTooManyLostNamesTheOneTooMany(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 20)
	phototest.Spoil(t, root, "003.jpg")
	phototest.Spoil(t, root, "004.jpg")
	l := openLoader(t, augmented(t, root, `{"size":4}`), Config{OnError: Skip, MaxErrors: ErrorCount(1)}, Options{})
	if _, err := rowsUntilError(t, l); !errors.Is(err, ErrTooManyLost) || !strings.Contains(err.Error(), ".jpg") {
		t.Fatal(err)
	}
}

// Ranks cut each global batch into contiguous slices: put together they are the batches
// of one rank alone.
func TestRanksTogetherAreTheGlobalBatch(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 37)
	whole := drain(t, openLoader(t, augmented(t, root, `{"global_size":8}`), Config{Epochs: new(1)}, Options{}))
	for _, world := range []int{2, 3, 4} {
		joined := make([][]row, len(whole))
		for rank := range world {
			l := openLoader(t, augmented(t, root, `{"global_size":8}`), Config{Epochs: new(1), Rank: rank, WorldSize: world}, Options{})
			part := drain(t, l)
			if len(part) != len(whole) {
				t.Fatalf("rank %d of %d has %d batches, one alone %d", rank, world, len(part), len(whole))
			}
			for i := range part {
				joined[i] = append(joined[i], part[i]...)
			}
		}
		compare(t, fmt.Sprintf("%d ranks", world), joined, whole)
	}
}

func TestResumeAfterEveryBatchIsTheUninterruptedRun(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 37)
	for _, name := range []string{"003.jpg", "017.jpg", "018.jpg", "036.jpg"} {
		phototest.Spoil(t, root, name)
	}
	for _, policy := range []OnError{Skip, Replace} {
		cutAnywhere(t, augmented(t, root, `{"size":4}`), Config{OnError: policy, Workers: new(3)})
		cutAnywhere(t, augmented(t, root, `{"size":4,"drop_last":true}`), Config{OnError: policy, Workers: new(2), Fuse: new(false)})
	}
}

// The amount that a refusal names is enough, and none below it is.
func TestTheMemoryThatIsAskedForIsEnough(t *testing.T) {
	root := phototest.Folder(t, 6)
	open := func(memory int64) error {
		l, err := Open(t.Context(), augmented(t, root, `{"size":4}`), Config{Memory: &memory}, Options{})
		if err == nil {
			l.Close()
		}
		return err
	}
	var needed int64
	refusal := fmt.Sprint(open(1))
	if _, err := fmt.Sscanf(refusal[max(0, strings.Index(refusal, "takes ")):], "takes %d", &needed); err != nil {
		t.Fatal(refusal)
	}
	if err := open(needed - 1); err == nil {
		t.Errorf("%s, but %d are enough", refusal, needed-1)
	}
	if err := open(needed); err != nil {
		t.Errorf("%s, but: %v", refusal, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	root := phototest.Folder(t, 6)
	empty := t.TempDir()
	for want, open := range map[string]func() (*Loader, error){
		"memory is 1000 bytes, and one batch of 4 rows takes": func() (*Loader, error) {
			return Open(t.Context(), augmented(t, root, `{"size":4}`), Config{Memory: new(int64(1000))}, Options{})
		},
		empty: func() (*Loader, error) {
			return Open(t.Context(), augmented(t, empty, `{"size":4}`), Config{}, Options{})
		},
		"no-such-folder": func() (*Loader, error) {
			return Open(t.Context(), augmented(t, root+"/no-such-folder", `{"size":4}`), Config{}, Options{})
		},
		"rank is 5": func() (*Loader, error) {
			return Open(t.Context(), augmented(t, root, `{"size":4}`), Config{Rank: 5}, Options{})
		},
	} {
		l, err := open()
		if err == nil {
			l.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, expected %q", err, want)
		}
	}
}

func TestDropLastAndPaths(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 10)
	r := parseRecipe(t, `{"files":{"pairs":[["class0/000.jpg",5],["class1/001.jpg",-6],["class0/002.jpg",7]],"root":%q}},
		"decode_image",{"center_crop":{"size":[8,9]}},{"batch":{"size":2,"drop_last":true}}`, root)
	l := openLoader(t, r, Config{Epochs: new(1)}, Options{})
	got := drain(t, l)
	if len(got) != 1 || got[0][0].Key != "class0/000.jpg" || got[0][0].Label != 5 || got[0][1].Label != -6 || len(got[0][0].Pixels) != 8*9*3 {
		t.Fatalf("%d batches, the first of keys %q %q", len(got), got[0][0].Key, got[0][1].Key)
	}
	if l.Info().BatchesPerEpoch != 1 {
		t.Fatalf("%d batches were promised", l.Info().BatchesPerEpoch)
	}
}

func TestEveryLoopIsAnEpoch(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 10)
	l := openLoader(t, augmented(t, root, `{"size":4}`), Config{Epochs: new(3)}, Options{})
	for epoch, want := range []int{3, 3, 3, 0} {
		n := 0
		for b, err := range l.All(t.Context()) {
			if err != nil || b.Epoch() != epoch {
				t.Fatalf("%v in epoch %d", err, epoch)
			}
			b.Release()
			if n++; n == 2 && epoch == 1 {
				break // the rest is for the next loop
			}
		}
		if epoch == 1 {
			for b, err := range l.All(t.Context()) {
				if err != nil || b.Step() != 2 {
					t.Fatalf("%v, batch %d", err, b.Step())
				}
				n++
				b.Release()
			}
		}
		if n != want {
			t.Errorf("epoch %d has %d batches", epoch, n)
		}
	}
	phototest.Spoil(t, root, "003.jpg")
	l = openLoader(t, augmented(t, root, `{"size":4}`), Config{}, Options{})
	var last error
	for b, err := range l.All(t.Context()) {
		if last = err; err == nil {
			b.Release()
		}
	}
	if last == nil || !strings.Contains(last.Error(), "003.jpg") {
		t.Errorf("the loop ended with %v", last)
	}
}

func TestNextEndsWithItsContext(t *testing.T) {
	leak.Check(t)
	l := openLoader(t, augmented(t, phototest.Folder(t, 40), `{"size":4}`), Config{}, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for { // what is ready may still come
		b, err := l.Next(ctx)
		if errors.Is(err, context.Canceled) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		b.Release()
	}
}

func TestStatsOutliveTheRun(t *testing.T) {
	leak.Check(t)
	l := openLoader(t, augmented(t, phototest.Folder(t, 8), `{"size":4}`), Config{Epochs: new(1)}, Options{})
	drain(t, l)
	l.Close()
	s := l.Stats()
	if len(s.Stages) != 3 || s.Stages[1].In != 8 || s.Stages[1].Bytes == 0 || s.Yielded != 2 {
		t.Fatalf("%+v", s)
	}
	if s.Memory.Used != 0 {
		t.Fatalf("%d bytes of the budget are still held", s.Memory.Used)
	}
	if !bytes.Contains([]byte(s.Decoder), []byte("go")) {
		t.Fatalf("the decoder is %q in a program without C", s.Decoder)
	}
}

// A consumer in this process may hold batches too, and what it holds outlives the loader.
func TestHeldBatchesDoNotStopTheLoader(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 40)
	want := slices.Collect(slices.Chunk(sequential(t, root, 0, all), 4))
	l := openLoader(t, augmented(t, root, `{"size":4}`), Config{Epochs: new(1)}, Options{})
	var held []*Batch
	for {
		b, err := l.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, b)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	var got [][]row
	for _, b := range held {
		got = append(got, rows(t, b))
		b.Release()
	}
	compare(t, "held until the loader was closed", got, want)
}

func TestAHoldLimitEndsTheWaitAndNotTheRun(t *testing.T) {
	leak.Check(t)
	l := openLoader(t, augmented(t, phototest.Folder(t, 80), `{"size":4}`), Config{Epochs: new(1), HoldLimit: new(int64(26000))}, Options{})
	var held []*Batch
	n := 0
	for {
		b, err := l.Next(t.Context())
		if tooMany := (*arena.HeldError)(nil); errors.As(err, &tooMany) {
			if tooMany.Count != len(held) {
				t.Fatalf("%v, and %d are held", err, len(held))
			}
			for _, b := range held {
				b.Release()
			}
			held = nil
			continue
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, b)
		n += b.Rows()
	}
	for _, b := range held {
		b.Release()
	}
	if n != 80 {
		t.Fatalf("%d rows came of 80", n)
	}
}
