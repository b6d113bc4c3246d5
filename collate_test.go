//go:build cgo

package headrace_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	. "github.com/headrace/headrace"
	"github.com/headrace/headrace/arena"
	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/tensor"
)

func openCollate(t *testing.T, root, steps string, c Config, o Options) *Loader {
	t.Helper()
	if c.Epochs == nil {
		c.Epochs = new(1)
	}
	if o.Python == nil {
		o.Python = pythonHere(t)
	}
	return openLoader(t, parseRecipe(t, `{"files":{"pattern":%q,"root":"/","label":"parent"}},`+steps, root), c, o)
}

const paddedGives = `,"gives":{"names":"text","tokens":{"dtype":"int32","shape":[null,null]},"count":{"dtype":"int64"},"sizes":{"dtype":"uint16","shape":[null,2]},"drawn":{"dtype":"int64"}}`

// A batch that is larger than the first one takes a slot of its own, which goes with it.
func TestBatchesThatDoNotFit(t *testing.T) {
	leak.Check(t)
	root, _ := pictureFolder(t, 20)
	l := openCollate(t, root, `{"batch":{"size":2,"collate":{"function":"stages:growing","fields":["key"],"workers":2}}}`, Config{}, Options{})
	if n := l.Info().SlotBytes; n != 128 { // twice a first batch of one byte and nothing
		t.Errorf("slots of %d bytes", n)
	}
	var held []*Batch
	for n := 0; n < 20; n += 2 {
		b := nextOf(t, l)
		x, _ := b.Tensor("data")
		more, _ := b.Tensor("more")
		if !x.Shape.Equal(tensor.Shape{1 + 50_000*n}) || x.Data[len(x.Data)-1] != byte(n) || !more.Shape.Equal(tensor.Shape{n, 3}) || b.Samples() != 2 || b.Alone() != (n > 0) {
			t.Errorf("%d: %v, %v, %d samples, alone: %v", n, x.Shape, more.Shape, b.Samples(), b.Alone())
		}
		if held = append(held, b); len(held) == 3 { // more than the pool has for it
			for _, b := range held {
				b.Release()
			}
			held = nil
		}
	}
	for _, b := range held {
		b.Release()
	}
	if used, slots := l.Stats().Memory.Used, l.Arena().Stats(); used > 1<<20 || slots.Leased != 0 {
		t.Errorf("%d bytes are in use; %+v", used, slots)
	}
	nothingHeld(t, l)
}

// Who holds large batches learns so, by what they are.
func TestLargeBatchesThatAreHeld(t *testing.T) {
	leak.Check(t)
	root, _ := pictureFolder(t, 20)
	l := openCollate(t, root, `{"batch":{"size":2,"collate":{"function":"stages:growing","fields":["key"],"workers":1}}}`, Config{HoldLimit: new(int64(1 << 20)), Prefetch: new(1)}, Options{})
	var held []*Batch
	var err error
	for err == nil {
		var b *Batch
		if b, err = l.Next(t.Context()); err == nil {
			held = append(held, b)
		}
	}
	if !strings.Contains(err.Error(), "hold_limit") || len(held) < 5 || len(held) > 8 {
		t.Errorf("%d batches, and %v", len(held), err)
	}
	for _, b := range held {
		b.Release()
	}
	nextOf(t, l).Release()
	nothingHeld(t, l)
}

// Workers write into the batch itself: what is elsewhere, and is copied, are numbers,
// and what does not fit.
func TestCollateIsWrittenIntoTheBatch(t *testing.T) {
	leak.Check(t)
	root, _ := pictureFolder(t, 23)
	for _, more := range []string{"", paddedGives} {
		r := parseRecipe(t, `{"files":{"pattern":%q,"root":"/","label":"parent"}},"decode_image",{"batch":{"size":4,"collate":{"function":"stages:padded","workers":2`+more+`}}}`, root)
		l, err := Open(t.Context(), r, Config{Epochs: new(1)}, Options{Python: pythonHere(t)})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		var mu sync.Mutex
		calls := 0
		do := l.Compiled().Collating.Make
		l.Compiled().Collating.Make = func(ctx context.Context, a batch.Job) (batch.Made, error) {
			m, err := do(ctx, a)
			mu.Lock()
			defer mu.Unlock()
			calls++
			for i, v := range m.Values {
				if is := record.Overlap(a.Slot, v.Data); is != (len(v.Shape) > 0) {
					t.Errorf("%s %v is written into the batch: %v", l.Compiled().Collating.Out[i].Name, v.Shape, is)
				}
			}
			return m, err
		}
		if err := l.Start(l.Info().State, nil); err != nil {
			t.Fatal(err)
		}
		n := 0
		if walk(t, l, func(*Batch) { n++ }); n != 6 || calls != 6 {
			t.Errorf("%d batches in %d calls", n, calls)
		}
		nothingHeld(t, l)
	}
}

// Each batch in the making has a slot, as far as these take no more than half of the
// memory, and so it is where a number of workers is tried.
func TestSlotsOfCollate(t *testing.T) {
	leak.Check(t)
	root, _ := pictureFolder(t, 4)
	slot := int(arena.Stride(400_000 * 4))
	for _, c := range []struct {
		workers, slots int // 5 are there for any batch
		memory         int64
		tries          int // workers of a profile; 0: it is none
	}{
		{1, 6, 1 << 30, 0},
		{3, 10, 1 << 30, 0},
		{3, 7, int64(15 * slot), 0},
		{3, 5, int64(6 * slot), 0},
		{3, 2, int64(2*slot + slot/2), 0},
		{1, 20, 1 << 30, 8},
		{1, 10, int64(20 * slot), 8},
	} {
		steps := `{"files":{"pattern":%q,"root":"/","label":"parent"}},{"batch":{"size":2,"collate":{"function":"stages:renamed","fields":["label"],"workers":%d,"gives":{"twice":{"dtype":"int32","shape":[400000]}}}}}`
		config, o := Config{Memory: &c.memory}, Options{Python: pythonHere(t)}
		if c.tries > 0 {
			config, o = Config{Memory: new(int64(1 << 60))}, o.Tried(c.memory, c.tries)
		}
		l, err := Open(t.Context(), parseRecipe(t, steps, root, c.workers), config, o)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if n := l.Arena().Stats().Slots; n != c.slots {
			t.Errorf("%d workers and %d slots of memory have %d slots, want %d", c.workers, c.memory/int64(slot), n, c.slots)
		}
	}
}
