package extern_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

var itemFields = sample.Schema{
	{Name: "x", Type: intType}, {Name: "name", Type: sample.TextType}, {Name: "row", Type: sample.TensorType(tensor.Int16, 5)},
}

// openItems opens a pool that has samples by their numbers.
func openItems(t *testing.T, o extern.Options) *extern.Pool {
	t.Helper()
	o.Function, o.Kind, o.In, o.Gives = "functions:Items", extern.Index, sample.Schema{}, itemFields
	return open(t, o)
}

// itemsOf makes a run of so many numbers, some of which are others.
func itemsOf(n int, others map[int]int64) *extern.Call {
	c := &extern.Call{Into: []extern.Column{{Data: make([]byte, 8*n)}, {Texts: make([]string, n)}, {Data: make([]byte, 10*n)}}}
	for i := range n {
		number := int64(3 * i)
		if other, ok := others[i]; ok {
			number = other
		}
		c.Run = append(c.Run, number)
	}
	return c
}

// checkItems compares the first results of a run with what they are to be.
func checkItems(t *testing.T, c *extern.Call, n int) {
	t.Helper()
	for i, number := range c.Run[:n] {
		x := int64(binary.LittleEndian.Uint64(c.Into[0].Data[8*i:]))
		row := int16(binary.LittleEndian.Uint16(c.Into[2].Data[10*i+8:]))
		if name := c.Into[1].Texts[i]; x != number || name != fmt.Sprint("n", number) || row != int16(number%30000) {
			t.Fatalf("%d: %d, %q, %d", i, x, name, row)
		}
	}
}

// What comes of a run lies where it is to be; the first sample that fails is known, with
// all that is before it.
func TestGather(t *testing.T) {
	for _, threads := range []bool{false, true} {
		t.Run(fmt.Sprint("threads ", threads), func(t *testing.T) {
			pool := openItems(t, extern.Options{Workers: 2, Threads: threads})
			ctx := within(t, time.Minute)
			calls := int64(0)
			for _, others := range []map[int]int64{nil, {1700: 1_000_000, 900: 1_000_000}, {40: 3_000_000}, nil, {0: 1_000_000}} {
				c := itemsOf(2000, others)
				failed, err := pool.Gather(ctx, c)
				want := len(c.Run)
				for i, other := range others {
					if other == 1_000_000 {
						want = min(want, i)
					}
				}
				if told := (*extern.CallError)(nil); failed != want || errors.As(err, &told) != (want < len(c.Run)) {
					t.Fatalf("%v: %d, %v", others, failed, err)
				}
				checkItems(t, c, failed)
				if want == len(c.Run) {
					calls += int64(want)
				}
			}
			if got := pool.Stats().Calls; got < calls || pool.Run() < 1 {
				t.Errorf("%d calls, and %d at once", got, pool.Run())
			}
		})
	}
}

// A worker that dies has its samples called for one by one, by whoever asks.
func TestGatherWhereAWorkerDies(t *testing.T) {
	pool := openItems(t, extern.Options{Workers: 2})
	ctx := within(t, time.Minute)
	warm := itemsOf(500, nil)
	if _, err := pool.Gather(ctx, warm); err != nil {
		t.Fatal(err)
	}
	c := itemsOf(1000, map[int]int64{600: 2_000_000})
	failed, err := pool.Gather(ctx, c)
	if !errors.Is(err, extern.ErrApart) || failed > 600 {
		t.Fatal(failed, err)
	}
	checkItems(t, c, failed)
	if failed, err := pool.Gather(ctx, warm); err != nil || failed != 500 {
		t.Fatal(failed, err)
	}
}

// Nobody waits any longer than the context, and those who come next go on.
func TestGatherThatIsCancelled(t *testing.T) {
	pool := openItems(t, extern.Options{Workers: 1})
	slow := map[int]int64{}
	for i := range 60 {
		slow[i] = 3_000_000 // 18 s
	}
	ctx, cancel := context.WithCancel(within(t, time.Minute))
	time.AfterFunc(700*time.Millisecond, cancel)
	begun := time.Now()
	if _, err := pool.Gather(ctx, itemsOf(60, slow)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if took := time.Since(begun); took > 12*time.Second {
		t.Error(took)
	}
	c := itemsOf(10, nil)
	if failed, err := pool.Gather(within(t, time.Minute), c); err != nil || failed != 10 {
		t.Error(failed, err)
	}
}

// What is not for Gather is refused before any worker is asked.
func TestGatherRefuses(t *testing.T) {
	pool := openItems(t, extern.Options{Workers: 1, Idle: true})
	maps := open(t, extern.Options{Function: "functions:same", In: intField, Gives: intField, Workers: 1, Idle: true})
	short, few := itemsOf(4, nil), itemsOf(4, nil)
	short.Into[0].Data = short.Into[0].Data[8:]
	few.Into = few.Into[:2]
	for name, refused := range map[string]struct {
		pool *extern.Pool
		call *extern.Call
	}{
		"none": {pool, &extern.Call{Run: []int64{}, Into: short.Into}}, "short": {pool, short}, "few": {pool, few},
		"a map": {maps, itemsOf(4, nil)},
	} {
		if _, err := refused.pool.Gather(within(t, time.Minute), refused.call); err == nil {
			t.Error(name)
		}
	}
}
