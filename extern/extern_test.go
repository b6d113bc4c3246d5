package extern_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// interpreter is the Python that tests of the module use, as internal/oracle finds it,
// with this folder's functions.
func interpreter(t testing.TB) *extern.Interpreter {
	t.Helper()
	tier.StartsProcesses(t)
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	python := os.Getenv("HEADRACE_PYTHON")
	if python == "" {
		python = filepath.Join(root, ".venv", "bin", "python")
	}
	if _, err := os.Stat(python); err != nil {
		t.Fatalf("%v: run scripts/install.sh, or set HEADRACE_PYTHON", err)
	}
	environment := append(os.Environ(), "PYTHONPATH="+filepath.Join(root, "python", "src")+":"+filepath.Join(root, "extern", "testdata"))
	return &extern.Interpreter{Executable: python, Environment: environment}
}

// notes gathers what workers say.
type notes struct {
	mu    sync.Mutex
	lines []extern.Line
}

func (n *notes) add(l extern.Line) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, l)
}

func (n *notes) all() []extern.Line {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]extern.Line(nil), n.lines...)
}

// open opens a pool, and checks when the test ends that nothing is left of it.
func open(t testing.TB, o extern.Options) *extern.Pool {
	t.Helper()
	tier.StartsProcesses(t)
	leak.Check(t)
	heap, err := extern.NewHeap()
	if err != nil {
		t.Fatal(err)
	}
	o.Heap = heap
	if o.Interpreter == nil {
		o.Interpreter = interpreter(t)
	}
	if o.Stage == "" {
		o.Stage = "step"
	}
	if o.Kind == "" {
		o.Kind = extern.Map
	}
	if o.Log == nil {
		o.Log = func(l extern.Line) { t.Logf("%s %s %s: %s", l.Stage, l.Level, l.Logger, l.Message) }
	}
	pool, err := extern.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	heaps.Store(pool, heap)
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
		if n := heap.Held(); n != 0 {
			t.Errorf("%d bytes of the heap are in use at the end", n)
		}
		heap.Close()
	})
	return pool
}

var heaps sync.Map // by pool

func heapOf(p *extern.Pool) *extern.Heap {
	h, _ := heaps.Load(p)
	return h.(*extern.Heap)
}

// give gives back what a call has brought.
func give(p *extern.Pool, c *extern.Call) {
	for i, v := range c.Out {
		if c.Same[i] < 0 {
			heapOf(p).Give(v.Data)
		}
	}
	c.Out, c.Same = nil, nil
}

func number(n int64) extern.Value {
	return extern.Value{Kind: sample.Tensor, DType: tensor.Int64, Shape: tensor.Shape{}, Data: binary.LittleEndian.AppendUint64(nil, uint64(n))}
}

func text(s string) extern.Value { return extern.Value{Kind: sample.Text, Text: s} }

func toInt(v extern.Value) int64 { return int64(binary.LittleEndian.Uint64(v.Data)) }

var (
	intType  = sample.TensorType(tensor.Int64)
	intField = sample.Schema{{Name: "x", Type: intType}}
)

func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// A call says how long a worker worked for it, and not how long it waited for one.
func TestHowLongCallsTake(t *testing.T) {
	pool := open(t, extern.Options{Function: "functions:nap", In: intField, Gives: intField, Workers: 1})
	var all sync.WaitGroup
	var sum atomic.Int64
	begun := time.Now()
	for i := range int64(5) {
		all.Go(func() {
			c := &extern.Call{In: []extern.Value{number(i)}}
			if err := pool.Call(within(t, time.Minute), c); err != nil {
				t.Error(err)
			}
			if c.Took < 300*time.Millisecond {
				t.Errorf("0.3 s took %v", c.Took)
			}
			sum.Add(int64(c.Took))
			give(pool, c)
		})
	}
	all.Wait()
	if elapsed := time.Since(begun); sum.Load() > int64(elapsed) {
		t.Errorf("one worker has worked for %v in %v", time.Duration(sum.Load()), elapsed)
	}
}

func TestCallsInPacks(t *testing.T) {
	pool := open(t, extern.Options{Function: "functions:double", In: intField, Gives: intField, Workers: 2})
	var all sync.WaitGroup
	for g := range 64 {
		all.Go(func() {
			for i := range 50 {
				n := int64(g*1000 + i)
				c := &extern.Call{Key: fmt.Sprint(n), In: []extern.Value{number(n)}}
				if err := pool.Call(within(t, time.Minute), c); err != nil {
					t.Error(err)
					return
				}
				if got := toInt(c.Out[0]); got != 2*n {
					t.Errorf("2 × %d is %d", n, got)
				}
				give(pool, c)
			}
		})
	}
	all.Wait()
	if s := pool.Stats(); s.Calls != 3200 || s.Packs >= 3200 || len(s.PIDs) != 2 {
		t.Errorf("%+v", s)
	}
}
