package extern_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// late is a pool of a function of testdata/late.py.
func late(t *testing.T, o extern.Options) *extern.Pool {
	t.Helper()
	o.Interpreter = interpreter(t)
	o.Interpreter.Environment = append(o.Interpreter.Environment, "LATE="+filepath.Join(t.TempDir(), "once"))
	if o.In == nil {
		o.In, o.Gives = intField, intField
	}
	return open(t, o)
}

// A sample is guilty of its worker's end only if it ends another one, alone.
func TestWorkersThatDieLateCostNoSample(t *testing.T) {
	const n = 120
	for _, test := range []struct {
		name     string
		options  extern.Options
		guilty   int64
		restarts int64
	}{
		{"later", extern.Options{Function: "late:poisons"}, -1, 1},
		{"later, of several", extern.Options{Function: "late:poisons", Workers: 3}, -1, 0}, // where no other sample comes to that worker
		{"a thread", extern.Options{Function: "late:thread_kills", Workers: 2}, -1, 1},
		{"threads", extern.Options{Function: "late:thread_kills", Workers: 4, Threads: true}, -1, 1},
		{"guilty", extern.Options{Function: "late:kills"}, 5, 2},
		{"guilty, of several", extern.Options{Function: "late:kills", Workers: 3}, 5, 2},
		{"guilty, of threads", extern.Options{Function: "late:kills", Workers: 3, Threads: true}, 5, 2},
		{"guilty, of coroutines", extern.Options{Function: "late:kills_async", Workers: 2}, 5, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			pool := late(t, test.options)
			ctx := within(t, time.Minute)
			var all sync.WaitGroup
			for i := range int64(n) {
				all.Go(func() {
					c := &extern.Call{In: []extern.Value{number(i)}}
					err := pool.Call(ctx, c)
					var died *extern.WorkerError
					switch {
					case i == test.guilty && (!errors.As(err, &died) || !died.Again):
						t.Errorf("the guilty sample: %v", err)
					case i != test.guilty && err != nil:
						t.Errorf("%d: %v", i, err)
					case i != test.guilty && toInt(c.Out[0]) != i:
						t.Errorf("%d is %d", i, toInt(c.Out[0]))
					}
					give(pool, c)
				})
			}
			all.Wait()
			for pool.Stats().Restarts < test.restarts { // they are counted after the calls have come back
				if ctx.Err() != nil {
					t.Fatalf("%+v", pool.Stats())
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
}

var pictured = sample.Schema{{Name: "x", Type: intType}, {Name: "image", Type: sample.TensorType(tensor.Uint8, tensor.Unknown)}}

// picture is a sample whose bytes are in the heap, where functions may change them.
func picture(pool *extern.Pool, x int64) []extern.Value {
	data := heapOf(pool).Take(20_000)[:20_000]
	for i := range data {
		data[i] = byte(x)
	}
	return []extern.Value{number(x), {Kind: sample.Tensor, DType: tensor.Uint8, Shape: tensor.Shape{len(data)}, Data: data}}
}

// What a function has changed in place when its worker dies is what it was before when
// the function is called again.
func TestWhatWasChangedInPlaceIsChangedOnce(t *testing.T) {
	for _, o := range []extern.Options{{Workers: 2}, {Workers: 2, Copy: true}, {Workers: 2, Threads: true}} {
		o.Function, o.In, o.Gives = "late:changes", pictured, pictured
		t.Run(fmt.Sprintf("copy %v, threads %v", o.Copy, o.Threads), func(t *testing.T) {
			pool := late(t, o)
			var all sync.WaitGroup
			for x := range int64(40) {
				all.Go(func() {
					in := picture(pool, x)
					c := &extern.Call{In: slices.Clone(in)}
					if err := pool.Call(within(t, time.Minute), c); err != nil {
						t.Errorf("%d: %v", x, err)
					} else if got := c.Out[1].Data; !bytes.Equal(got, bytes.Repeat([]byte{byte(x) + 1}, 20_000)) {
						t.Errorf("%d: from %d to %d", x, got[0], got[len(got)-1])
					}
					give(pool, c)
					heapOf(pool).Give(in[1].Data)
				})
			}
			all.Wait()
			if n := pool.Stats().Restarts; n != 1 {
				t.Errorf("%d restarts", n)
			}
		})
	}
}

// The same holds for a batch.
func TestABatchIsMadeAgain(t *testing.T) {
	gives := sample.Schema{{Name: "x", Type: sample.TensorType(tensor.Int64, tensor.Unknown)}, {Name: "image", Type: sample.TensorType(tensor.Uint8, tensor.Unknown, tensor.Unknown)}}
	pool := late(t, extern.Options{Function: "late:changes_all", Kind: extern.Collate, In: pictured, Gives: gives})
	c := &extern.Call{Rows: 4}
	for x := range int64(4) {
		c.In = append(c.In, picture(pool, x)...)
	}
	in := slices.Clone(c.In)
	if err := pool.Call(within(t, time.Minute), c); err != nil {
		t.Fatal(err)
	}
	for x := range 4 {
		if row := c.Out[1].Data[20_000*x:][:20_000]; !bytes.Equal(row, bytes.Repeat([]byte{byte(x) + 1}, 20_000)) {
			t.Errorf("row %d begins with %d", x, row[0])
		}
	}
	give(pool, c)
	for x := range 4 {
		heapOf(pool).Give(in[2*x+1].Data)
	}
}

// Samples that a stream has handed on do not come twice, and none is missing.
func TestAStreamGoesOnInAnotherWorker(t *testing.T) {
	pool := late(t, extern.Options{Function: "late:parts", Kind: extern.FlatMap, Workers: 2})
	var all sync.WaitGroup
	for x := range int64(6) {
		all.Go(func() {
			got, err := ints(t, pool, &extern.Call{In: []extern.Value{number(x)}})
			var want []int64
			for i := range int64(100) {
				want = append(want, 1000*x+i)
			}
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%d: %s, %v", x, fmt.Sprint(got), err)
			}
		})
	}
	all.Wait()
	if n := pool.Stats().Restarts; n != 1 {
		t.Errorf("%d restarts", n)
	}
}

// A call that ends makes room for the next, however long the others take; and there are
// never more than the workers that are wanted.
func TestEachCoroutineMakesRoomForTheNext(t *testing.T) {
	for _, threads := range []bool{false, true} {
		pool := late(t, extern.Options{Function: "late:first_waits", Workers: 5, Exact: true, Threads: threads})
		var all sync.WaitGroup
		var mu sync.Mutex
		var most int64
		for i := range int64(200) {
			all.Go(func() {
				c := &extern.Call{In: []extern.Value{number(i)}}
				if err := pool.Call(within(t, time.Minute), c); err != nil {
					t.Errorf("%d: %v", i, err)
					return
				}
				mu.Lock()
				most = max(most, toInt(c.Out[0]))
				mu.Unlock()
				give(pool, c)
			})
		}
		all.Wait()
		if most > 5 {
			t.Errorf("threads %v: %d calls were in flight", threads, most)
		}
	}
}

// A coroutine that blocks its event loop is found among those beside it, which are called
// again and succeed.
func TestTheCoroutineThatBlocksIsFound(t *testing.T) {
	pool := late(t, extern.Options{Function: "late:blocks_async", Workers: 8, Exact: true, Limit: 2 * time.Second})
	var all sync.WaitGroup
	for i := range int64(12) {
		all.Go(func() {
			c := &extern.Call{In: []extern.Value{number(i)}}
			err := pool.Call(within(t, time.Minute), c)
			if limit := (*extern.LimitError)(nil); (i == 5) != errors.As(err, &limit) || i != 5 && err != nil {
				t.Errorf("%d: %v", i, err)
			}
			give(pool, c)
		})
	}
	all.Wait()
}
