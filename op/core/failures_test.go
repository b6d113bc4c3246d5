package core_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/op/flow"
	"github.com/headrace/headrace/op/image"
	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/loadertest"
)

type named struct{ ID sample.ID }

// asTold does what a test says, for each sample.
type asTold struct {
	Hook string `json:"hook" doc:"which test it is"`
}

var (
	errFail = errors.New("it does not work")

	hooks    sync.Map // of func(context.Context, sample.ID) error, by name
	toldOnce = sync.OnceValue(func() error {
		return headrace.Register("as_told", "Does what it is told.", func() headrace.Operation[named, struct{}] { return new(asTold) })
	})
)

func (o *asTold) Do(ctx context.Context, in named) (struct{}, error) {
	do, _ := hooks.Load(o.Hook)
	return struct{}{}, do.(func(context.Context, sample.ID) error)(ctx, in.ID)
}

// telling is a step that calls do.
func telling(t *testing.T, f *recipe.Failures, do func(context.Context, sample.ID) error) recipe.Step {
	t.Helper()
	if err := toldOnce(); err != nil {
		t.Fatal(err)
	}
	hooks.Store(t.Name(), do)
	return recipe.Step{Args: headrace.Args(&asTold{t.Name()}), Failures: f}
}

// stepBefore is a recipe with a step before decoding.
func stepBefore(root string, s recipe.Step) recipe.Recipe {
	return recipe.Recipe{Seed: 7, Steps: []recipe.Step{
		{Args: &input.Files{Pattern: recipe.Path(root), Root: "/", Label: "parent"}}, s,
		{Op: "decode_image"}, {Args: &image.CenterCrop{Size: recipe.Size{Height: 8, Width: 8}}}, {Args: &flow.Batch{Size: 4}},
	}}
}

// substituted is what a plain loop gives where others come in the places of bad samples.
func substituted(t *testing.T, root string, epoch, rank, world int, bad []string) (rows []loadertest.Row, lost []string) {
	t.Helper()
	paths := loadertest.Photographs(t, root)
	permutation := order.Permute(int64(len(paths)), 3, epoch)
	isBad := func(index int64) bool { return slices.Contains(bad, filepath.Base(paths[index])) }
	split := order.Split{Samples: int64(len(paths)), Batch: int64(4 * world), World: world, Rank: rank}
	for pos := range split.Len() {
		place, _ := split.At(pos)
		index := permutation.At(place)
		if origin := index; isBad(origin) {
			lost = append(lost, filepath.Base(paths[origin]))
			key := order.NewKey(7, epoch, order.SourceID("files"), origin)
			for draw := uint32(0); isBad(index); draw++ {
				index = int64(key.Intn(order.OpID("replace"), draw, len(paths)))
			}
		}
		rows = append(rows, loadertest.AugmentedRow(t, paths, epoch, index))
	}
	return rows, lost
}

func TestReplacedSamplesLeaveBatchesAsTheyAre(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 37)
	bad := []string{"003.jpg", "017.jpg", "018.jpg", "036.jpg"}
	for _, name := range bad {
		phototest.Spoil(t, root, name)
	}
	for _, world := range []int{1, 2} {
		for _, c := range []headrace.Config{{Workers: new(1)}, {Workers: new(5)}, {Workers: new(3), Fuse: new(false)}, {Workers: new(4), Memory: new(int64(1 << 15))}} {
			c.Epochs, c.OnError, c.WorldSize = new(2), headrace.Replace, world
			for c.Rank = range world {
				var lost []string
				l := loadertest.Open(t, loadertest.Augmented(t, root, `{"size":4}`), c, headrace.Options{Lost: func(l headrace.Lost) {
					if lost = append(lost, filepath.Base(l.Key)); !l.Replaced || l.Err == nil || l.Stage == "" {
						t.Errorf("%+v", l)
					}
				}})
				if !l.Info().Exact {
					t.Error("the number of batches was not promised")
				}
				for epoch := range 2 {
					lost = nil
					rows, wantLost := substituted(t, root, epoch, c.Rank, world, bad)
					loadertest.Compare(t, fmt.Sprintf("rank %d of %d, epoch %d", c.Rank, world, epoch), loadertest.Drain(t, l), slices.Collect(slices.Chunk(rows, 4)))
					if !slices.Equal(lost, wantLost) {
						t.Errorf("%v were told, expected %v", lost, wantLost)
					}
					if e := l.Epoch(); e.Replaced != int64(len(wantLost)) || e.Lost != 0 || e.Samples != int64(len(rows)) {
						t.Errorf("%+v", e)
					}
				}
				var counted int64
				for _, s := range l.Stats().Stages {
					counted += s.Replaced
				}
				if counted == 0 {
					t.Error("the statistics know of no replaced sample")
				}
				l.Close()
				if n := l.Stats().Memory.Used; n != 0 {
					t.Errorf("%d bytes are still held", n)
				}
			}
		}
	}
}

func TestTooManyReplacedEndTheRunBeforeTheBatch(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 20)
	bad := []string{"003.jpg", "004.jpg", "011.jpg"}
	for _, name := range bad {
		phototest.Spoil(t, root, name)
	}
	var told []string
	l := loadertest.Open(t, loadertest.Augmented(t, root, `{"size":4}`), headrace.Config{OnError: headrace.Replace, MaxErrors: headrace.ErrorCount(2)}, headrace.Options{Lost: func(l headrace.Lost) { told = append(told, filepath.Base(l.Key)) }})
	rows, lost := substituted(t, root, 0, 0, 1, bad)
	var got [][]loadertest.Row
	for {
		b, err := l.Next(t.Context())
		if err == nil {
			got = append(got, rowsOf(t, b))
			continue
		}
		var failed *pipe.StageError
		if !errors.Is(err, headrace.ErrTooManyLost) || !errors.As(err, &failed) || failed.Source != "files" || !strings.Contains(err.Error(), lost[2]) {
			t.Fatal(err)
		}
		if _, again := l.Next(t.Context()); again != err {
			t.Errorf("then %v", again)
		}
		break
	}
	n := int64(4 * len(got))
	if s := l.State(); s.Sources["files"].Position != n || s.Replaced != int64(len(told)) || len(told) > 2 {
		t.Errorf("after %d batches the state is %+v, told were %v", len(got), s, told)
	}
	loadertest.Compare(t, "before it", got, slices.Collect(slices.Chunk(rows, 4))[:len(got)])
}

func rowsOf(t *testing.T, b *headrace.Batch) []loadertest.Row {
	t.Helper()
	defer b.Release()
	return loadertest.Rows(t, b)
}

// Where nothing can come in a sample's place, the run stops at it, and says so.
func TestNothingIsLeftToReplaceWith(t *testing.T) {
	leak.Check(t)
	for n, want := range map[int]string{1: "none of the 100 samples drawn could replace it", 3: "the 10 samples drawn to replace it failed too"} {
		root := phototest.Folder(t, n)
		for i := range n {
			phototest.Spoil(t, root, fmt.Sprintf("%03d.jpg", i))
		}
		l := loadertest.Open(t, loadertest.Augmented(t, root, `{"size":1}`), headrace.Config{OnError: headrace.Replace}, headrace.Options{})
		var bad *sample.Error
		if _, err := l.Next(t.Context()); !errors.As(err, &bad) || !strings.Contains(err.Error(), want) || errors.Is(err, headrace.ErrTooManyLost) {
			t.Errorf("%d samples: %v, expected %q", n, err, want)
		}
	}
}

func TestRetriesComeThrough(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 12)
	errNow := errors.New("not now")
	for retries, fails := range map[int]bool{2: false, 1: true} {
		var mu sync.Mutex
		tries := map[int64]int{}
		s := telling(t, &recipe.Failures{Retries: retries, Wait: new(0.001)}, func(_ context.Context, id sample.ID) error {
			mu.Lock()
			defer mu.Unlock()
			if tries[id.Index]++; id.Index%3 == 0 && tries[id.Index] <= 2 {
				return errNow
			}
			return nil
		})
		l := loadertest.Open(t, stepBefore(root, s), headrace.Config{Epochs: new(1)}, headrace.Options{})
		if fails {
			_, err := l.Next(t.Context())
			var bad *sample.Error // one of four: who fails first stops the others
			if !errors.Is(err, errNow) || !errors.As(err, &bad) || filepath.Base(bad.Key) != fmt.Sprintf("%03d.jpg", bad.Index) || bad.Index%3 != 0 {
				t.Errorf("%v", err)
			}
			continue
		}
		if n := len(loadertest.Drain(t, l)); n != 3 {
			t.Errorf("%d batches", n)
		}
		for _, s := range l.Stats().Stages {
			if want := map[string]int64{"as_told": 8}[s.Name]; s.Retried != want {
				t.Errorf("%s was tried again %d times, expected %d", s.Name, s.Retried, want)
			}
		}
	}
}

// What has gone since it was listed is looked for again.
func TestReadingIsTriedAgain(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 6)
	r := loadertest.Augmented(t, root, `{"size":3}`)
	r.Steps[0].Failures = &recipe.Failures{Retries: 3, Wait: new(0.001), OnError: "skip"}
	var lost []headrace.Lost
	l, err := headrace.Open(t.Context(), r, headrace.Config{Epochs: new(1)}, headrace.Options{Lost: func(l headrace.Lost) { lost = append(lost, l) }})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Remove(loadertest.Photographs(t, root)[2]); err != nil {
		t.Fatal(err)
	}
	if err := l.Start(headrace.State{}, nil); err != nil {
		t.Fatal(err)
	}
	if n := len(loadertest.Drain(t, l)); n != 2 || len(lost) != 1 || lost[0].Stage != "read" || !errors.Is(lost[0].Err, fs.ErrNotExist) {
		t.Errorf("%d batches, lost %v", n, lost)
	}
	if read := l.Stats().Stages[1]; read.Name != "read" || read.Retried != 3 || read.Lost != 1 {
		t.Errorf("%+v", read)
	}
}

// stuck hangs for some samples, until it is let go.
func stuck(t *testing.T, hangs func(id sample.ID, try int) bool) (do func(context.Context, sample.ID) error, calls func(index int64) int) {
	var mu sync.Mutex
	tries := map[int64]int{}
	free := make(chan struct{})
	t.Cleanup(sync.OnceFunc(func() { close(free) }))
	return func(_ context.Context, id sample.ID) error {
			mu.Lock()
			tries[id.Index]++
			n := tries[id.Index]
			mu.Unlock()
			if hangs(id, n) {
				<-free
			}
			return nil
		}, func(index int64) int {
			mu.Lock()
			defer mu.Unlock()
			return tries[index]
		}
}

func TestTimeLimits(t *testing.T) {
	root := phototest.Folder(t, 12)
	first := func(id sample.ID, try int) bool { return id.Index == 5 && try == 1 }
	always := func(id sample.ID, _ int) bool { return id.Index == 5 }
	for name, c := range map[string]struct {
		failures recipe.Failures
		hangs    func(sample.ID, int) bool
		rows     int // -1: the run stops
		lost     int
		replaced int
	}{
		"raise":              {recipe.Failures{}, always, -1, 0, 0},
		"skip":               {recipe.Failures{OnError: "skip"}, always, 11, 1, 0},
		"replace":            {recipe.Failures{OnError: "replace"}, always, 12, 0, 1},
		"retry":              {recipe.Failures{Retries: 1, Wait: new(0.001)}, first, 12, 0, 0},
		"retry in vain":      {recipe.Failures{Retries: 1, Wait: new(0.001), OnError: "skip"}, always, 11, 1, 0},
		"retry, and replace": {recipe.Failures{Retries: 1, Wait: new(0.001), OnError: "replace"}, always, 12, 0, 1},
	} {
		for _, memory := range []int64{1 << 30, 1 << 12} {
			t.Run(fmt.Sprint(name, memory), func(t *testing.T) {
				leak.Check(t)
				c.failures.TimeLimit = new(0.05)
				do, calls := stuck(t, c.hangs)
				l, err := headrace.Open(t.Context(), stepBefore(root, telling(t, &c.failures, do)), headrace.Config{Epochs: new(1), Workers: new(3), Memory: &memory}, headrace.Options{})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { l.Close() })
				if err := l.Start(headrace.State{}, nil); err != nil {
					t.Fatal(err)
				}
				n, err := loadertest.RowsUntilError(t, l)
				var late *pipe.LimitError
				if err != io.EOF && (c.rows >= 0 || !errors.As(err, &late) || !late.Abandoned || !strings.Contains(err.Error(), loadertest.Photographs(t, root)[5])) {
					t.Fatal(err)
				}
				if err == io.EOF && c.rows < 0 {
					t.Fatal("it did not stop")
				}
				if e := l.Epoch(); c.rows >= 0 && (n != c.rows || e.Lost != int64(c.lost) || e.Replaced != int64(c.replaced)) {
					t.Errorf("%d rows, %+v", n, e)
				}
				if want := 1 + c.failures.Retries; calls(5) != want {
					t.Errorf("%d tries, expected %d", calls(5), want)
				}
			})
		}
	}
}

// A budget of one's own does not spend the loader's, nor the other way round.
func TestStepsHaveBudgetsOfTheirOwn(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 20)
	for _, name := range []string{"003.jpg", "004.jpg", "011.jpg"} {
		phototest.Spoil(t, root, name)
	}
	for _, kind := range []string{"skip", "replace"} {
		for own, fails := range map[int]bool{3: false, 2: true, 0: true} {
			s := telling(t, &recipe.Failures{OnError: kind, MaxErrors: new(headrace.ErrorCount(own))}, func(_ context.Context, id sample.ID) error {
				if id.Index%5 == 0 && id.Index < 15 {
					return errFail
				}
				return nil
			})
			l := loadertest.Open(t, stepBefore(root, s), headrace.Config{Epochs: new(1), OnError: headrace.OnError(kind), MaxErrors: headrace.ErrorCount(3)}, headrace.Options{})
			_, err := loadertest.RowsUntilError(t, l)
			if tooMany := errors.Is(err, headrace.ErrTooManyLost); tooMany != fails || fails && !errors.Is(err, errFail) {
				t.Errorf("%s, at most %d: %v", kind, own, err)
			}
		}
	}
}

// cellsInUse counts what is noted of operations at work.
type cellsInUse struct {
	mu   sync.Mutex
	by   map[int]string
	most int
	t    *testing.T
}

func (c *cellsInUse) Begin(cell int, id sample.ID, key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if who, taken := c.by[cell]; taken || cell < 0 {
		c.t.Errorf("cell %d is that of %s, and is given to %s", cell, who, key)
	}
	c.by[cell] = key
	c.most = max(c.most, cell)
}

func (c *cellsInUse) End(cell int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.by, cell)
}

// An operation that was abandoned keeps its cell until it returns, and nobody else gets
// it.
func TestAbandonedOperationsKeepTheirCells(t *testing.T) {
	root := phototest.Folder(t, 24)
	do, _ := stuck(t, func(id sample.ID, _ int) bool { return id.Index == 3 || id.Index == 9 })
	cells := &cellsInUse{by: map[int]string{}, t: t}
	r := stepBefore(root, telling(t, &recipe.Failures{TimeLimit: new(0.05), OnError: "skip"}, do))
	l, err := headrace.Open(t.Context(), r, headrace.Config{Epochs: new(1), Workers: new(4)}, headrace.Options{InFlight: func() headrace.InFlight { return cells }})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Start(headrace.State{}, nil); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, b := range loadertest.Drain(t, l) {
		n += len(b)
	}
	cells.mu.Lock()
	defer cells.mu.Unlock()
	if n != 22 || len(cells.by) != 2 {
		t.Errorf("%d samples, and in cells are %v", n, cells.by)
	}
	l.Close()
}
