package extern_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/headrace/headrace/arena"
	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

func array(d tensor.DType, data []byte, shape ...int) extern.Value {
	return extern.Value{Kind: sample.Tensor, DType: d, Shape: shape, Data: data}
}

// inHeap is a copy of data in the pool's heap.
func inHeap(p *extern.Pool, data []byte) []byte {
	b := heapOf(p).Take(len(data))
	copy(b, data)
	return b
}

var (
	imageType = sample.TensorType(tensor.Uint8, tensor.Unknown, tensor.Unknown, 3)
	pixelsIn  = sample.Schema{{Name: "image", Type: imageType}, {Name: "what", Type: sample.TextType}, {Name: "raw", Type: sample.BytesType}}
	pixelsOut = sample.Schema{{Name: "raw", Type: sample.BytesType}, {Name: "n", Type: intType}, {Name: "image", Type: imageType}, {Name: "what", Type: sample.TextType}}
)

// Values of every kind and size arrive and come back as they are, whether they are in the
// heap or not, travel with the message or do not.
func TestValues(t *testing.T) {
	for _, threads := range []bool{false, true} {
		for _, keep := range []bool{false, true} {
			t.Run(fmt.Sprint(threads, keep), func(t *testing.T) {
				pool := open(t, extern.Options{Function: "functions:pixels", In: pixelsIn, Gives: pixelsOut, Workers: 2, Threads: threads, Copy: keep})
				var all sync.WaitGroup
				for i := range 60 {
					all.Go(func() {
						random := rand.New(rand.NewPCG(1, uint64(i)))
						h, w := random.IntN(40), random.IntN(40)
						if i%7 == 0 {
							h, w = 300+random.IntN(20), 200
						}
						data, raw := make([]byte, 3*h*w), make([]byte, random.IntN(40)*random.IntN(2000))
						sum := int64(0)
						for j := range data {
							data[j] = byte(random.Uint32())
							sum += int64(data[j])
						}
						for j := range raw {
							raw[j] = byte(random.Uint32())
						}
						given := data
						if i%2 == 0 {
							given = inHeap(pool, data)
							defer heapOf(pool).Give(given)
						}
						what := strings.Repeat("grün €", i)
						c := &extern.Call{In: []extern.Value{array(tensor.Uint8, given, h, w, 3), text(what), {Kind: sample.Bytes, Data: raw}}}
						if err := pool.Call(within(t, time.Minute), c); err != nil {
							t.Error(err)
							return
						}
						for j := range data {
							data[j]++
						}
						for a, b := 0, len(raw)-1; a < b; a, b = a+1, b-1 {
							raw[a], raw[b] = raw[b], raw[a]
						}
						if !bytes.Equal(c.Out[0].Data, raw) || toInt(c.Out[1]) != sum || !bytes.Equal(c.Out[2].Data, data) || !c.Out[2].Shape.Equal(tensor.Shape{h, w, 3}) || c.Out[3].Text != strings.ToUpper(what) {
							t.Errorf("sample %d came back otherwise", i)
						}
						for f, v := range c.Out {
							if c.Same[f] >= 0 || v.Kind != pixelsOut[f].Type.Kind || len(v.Data) > 0 && !heapOf(pool).Has(v.Data) {
								t.Errorf("field %d of sample %d: same as %d, %v", f, i, c.Same[f], v.Kind)
							}
						}
						give(pool, c)
					})
				}
				all.Wait()
			})
		}
	}
}

// What is returned as it was given costs nothing, and changes in place are seen.
func TestInputsThatAreResults(t *testing.T) {
	schema := sample.Schema{{Name: "image", Type: imageType}, {Name: "what", Type: sample.TextType}, {Name: "x", Type: intType}}
	pool := open(t, extern.Options{Function: "functions:in_place", In: schema, Gives: schema})
	for _, side := range []int{3, 200} {
		for _, own := range []bool{true, false} {
			data := bytes.Repeat([]byte{7}, side*side*3)
			given := data
			if own {
				given = inHeap(pool, data)
			}
			c := &extern.Call{In: []extern.Value{array(tensor.Uint8, given, side, side, 3), text("text"), number(5)}}
			if err := pool.Call(within(t, time.Minute), c); err != nil {
				t.Fatal(err)
			}
			same := own && side == 200
			if (c.Same[0] == 0) != same || bytes.Count(c.Out[0].Data, []byte{8}) != len(data) || c.Out[1].Text != "text" || toInt(c.Out[2]) != 5 {
				t.Errorf("side %d, own %v: same %v", side, own, c.Same)
			}
			if same && &c.Out[0].Data[0] != &given[0] || !same && given[0] != 7 {
				t.Errorf("side %d, own %v: the memory is not the same", side, own)
			}
			give(pool, c)
			heapOf(pool).Give(given)
		}
	}
}

// When a process ends, the samples in its other threads are done again: they must be as
// they were.
func TestThreadsChangeCopies(t *testing.T) {
	schema := sample.Schema{{Name: "image", Type: imageType}, {Name: "what", Type: sample.TextType}, {Name: "x", Type: intType}}
	pool := open(t, extern.Options{Function: "functions:in_place", In: schema, Gives: schema, Threads: true, Workers: 2})
	given := inHeap(pool, bytes.Repeat([]byte{7}, 200*200*3))
	c := &extern.Call{In: []extern.Value{array(tensor.Uint8, given, 200, 200, 3), text("text"), number(5)}}
	if err := pool.Call(within(t, time.Minute), c); err != nil {
		t.Fatal(err)
	}
	if bytes.Count(given, []byte{7}) != len(given) || bytes.Count(c.Out[0].Data, []byte{8}) != len(given) {
		t.Error("a thread has changed what it was given")
	}
	give(pool, c)
	heapOf(pool).Give(given)
}

func TestScalarsAreWeak(t *testing.T) {
	gives := sample.Schema{{Name: "a", Type: sample.TensorType(tensor.Float32)}, {Name: "b", Type: sample.TensorType(tensor.Float64)}, {Name: "c", Type: sample.TensorType(tensor.Bool)},
		{Name: "d", Type: sample.TensorType(tensor.Int16)}, {Name: "e", Type: sample.TensorType(tensor.BFloat16)}}
	pool := open(t, extern.Options{Function: "functions:weak", In: sample.Schema{}, Gives: gives})
	c := &extern.Call{}
	if err := pool.Call(within(t, time.Minute), c); err != nil {
		t.Fatal(err)
	}
	le := binary.LittleEndian
	if math.Float32frombits(le.Uint32(c.Out[0].Data)) != 3 || math.Float64frombits(le.Uint64(c.Out[1].Data)) != 1 || c.Out[2].Data[0] != 1 || le.Uint16(c.Out[3].Data) != 7 || le.Uint16(c.Out[4].Data) != 0x4000 {
		t.Errorf("%v", c.Out)
	}
	give(pool, c)
}

// Results grow and shrink, and each has its own size.
func TestResultsOfManySizes(t *testing.T) {
	gives := sample.Schema{{Name: "image", Type: sample.TensorType(tensor.Float32, tensor.Unknown)}}
	pool := open(t, extern.Options{Function: "functions:grow", In: sample.Schema{{Name: "n", Type: intType}}, Gives: gives, Workers: 2})
	var all sync.WaitGroup
	for _, n := range []int{0, 1, 1000, 4096, 5000, 100, 1 << 20, 3, 2 << 20, 70000, 0, 1 << 21} {
		all.Go(func() {
			c := &extern.Call{In: []extern.Value{number(int64(n))}}
			if err := pool.Call(within(t, time.Minute), c); err != nil {
				t.Error(err)
				return
			}
			if len(c.Out[0].Data) != 4*n || !c.Out[0].Shape.Equal(tensor.Shape{n}) || n > 0 && math.Float32frombits(binary.LittleEndian.Uint32(c.Out[0].Data[4*n-4:])) != 7 {
				t.Errorf("%d elements are %v", n, c.Out[0].Shape)
			}
			give(pool, c)
		})
	}
	all.Wait()
}

// segment is the memory of a slot, and what others map it by.
func segment(t *testing.T, size int) (fd int, memory []byte) {
	a, err := arena.New(arena.Options{Slots: 1, SlotBytes: size, Announce: func(s arena.Segment) (err error) {
		fd, err = syscall.Dup(s.FD)
		return err
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	slot, err := a.Reserve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	return fd, slot.Bytes()
}

// Results are written where the caller wants them: in a batch's row.
func TestRoomInASegment(t *testing.T) {
	fd, memory := segment(t, 1<<20)
	for _, side := range []int{2, 200} {
		for _, function := range []string{"fresh", "in_place"} {
			t.Run(fmt.Sprint(function, side), func(t *testing.T) {
				schema := sample.Schema{{Name: "image", Type: sample.TensorType(tensor.Uint8, side, side, 3)}}
				pool := open(t, extern.Options{Function: "functions:" + function, In: schema, Gives: schema})
				if err := pool.Segment(fd, 3, memory); err != nil {
					t.Fatal(err)
				}
				for row := range 4 {
					n := side * side * 3
					given := inHeap(pool, bytes.Repeat([]byte{byte(row + 1)}, n))
					c := &extern.Call{In: []extern.Value{array(tensor.Uint8, given, side, side, 3)}, Room: [][]byte{memory[row*n : (row+1)*n]}}
					if err := pool.Call(within(t, time.Minute), c); err != nil {
						t.Fatal(err)
					}
					want := byte(row + 1)
					if function == "in_place" {
						want++
					}
					if c.Same[0] != -1 || &c.Out[0].Data[0] != &memory[row*n] || bytes.Count(memory[row*n:(row+1)*n], []byte{want}) != n {
						t.Errorf("row %d is not where it should be", row)
					}
					heapOf(pool).Give(given)
				}
				c := &extern.Call{In: []extern.Value{array(tensor.Uint8, make([]byte, side*side*3), side, side, 3)}, Room: [][]byte{memory[:side]}}
				var e *extern.CallError
				if err := pool.Call(within(t, time.Minute), c); !errors.As(err, &e) || e.Field != "image" {
					t.Error(err)
				}
			})
		}
	}
}

// Where workers cannot write, a result is copied to where the caller wants it.
func TestRoomElsewhere(t *testing.T) {
	for _, side := range []int{2, 60, 200} {
		for _, function := range []string{"fresh", "in_place"} {
			schema := sample.Schema{{Name: "image", Type: sample.TensorType(tensor.Uint8, side, side, 3)}}
			pool := open(t, extern.Options{Function: "functions:" + function, In: schema, Gives: schema})
			room, n := make([]byte, side*side*3+1), side*side*3
			room[n] = 99
			want := byte(7)
			if function == "in_place" {
				want++
			}
			given := inHeap(pool, bytes.Repeat([]byte{7}, n))
			c := &extern.Call{In: []extern.Value{array(tensor.Uint8, given, side, side, 3)}, Room: [][]byte{room[:n]}}
			if err := pool.Call(within(t, time.Minute), c); err != nil {
				t.Fatal(err)
			}
			if c.Same[0] != -1 || &c.Out[0].Data[0] != &room[0] || bytes.Count(room[:n], []byte{want}) != n || room[n] != 99 {
				t.Errorf("%s, side %d: it is not where it should be", function, side)
			}
			heapOf(pool).Give(given)
		}
	}
}

// Numbers are those that NumPy's Philox gives for the key.
func TestTheGeneratorIsPhilox(t *testing.T) {
	gives := sample.Schema{{Name: "r", Type: sample.TensorType(tensor.Float64)}, {Name: "p", Type: sample.TensorType(tensor.Float64)}, {Name: "n", Type: sample.TensorType(tensor.Float64)}, {Name: "pid", Type: intType}}
	pool := open(t, extern.Options{Function: "functions:draws", In: sample.Schema{}, Gives: gives})
	c := &extern.Call{Random: [2]uint64{1, 2}}
	if err := pool.Call(within(t, time.Minute), c); err != nil {
		t.Fatal(err)
	}
	// numpy.random.Generator(numpy.random.Philox(key=numpy.array([1, 2],
	// numpy.uint64))).random()
	if got := math.Float64frombits(binary.LittleEndian.Uint64(c.Out[0].Data)); got != 0.30931491118583454 {
		t.Errorf("got %v", got)
	}
	give(pool, c)
}

// Kills at any moment cost the samples that were in work, and nothing else: what comes
// back is right, also where the function changes its input.
func TestKillsAtAnyMoment(t *testing.T) {
	schema := sample.Schema{{Name: "image", Type: imageType}, {Name: "x", Type: intType}}
	for _, function := range []string{"slow_in_place", "in_place", "fresh"} {
		t.Run(function, func(t *testing.T) {
			gives := schema
			if function == "fresh" {
				gives = schema[:1]
			}
			pool := open(t, extern.Options{Function: "functions:" + function, In: schema, Gives: gives, Workers: 2})
			ctx := within(t, 2*time.Minute)
			var all sync.WaitGroup
			var died, done atomic.Int64
			for g := range 16 {
				all.Go(func() {
					random := rand.New(rand.NewPCG(uint64(g), 5))
					for i := 0; i < 30 || pool.Stats().Restarts == 0; i++ {
						side := []int{3, 30, 60}[random.IntN(3)]
						fill := byte(random.IntN(200))
						n := side * side * 3
						for {
							given := inHeap(pool, bytes.Repeat([]byte{fill}, n))
							c := &extern.Call{In: []extern.Value{array(tensor.Uint8, given, side, side, 3), number(int64(i))}}
							err := pool.Call(ctx, c)
							var e *extern.WorkerError
							if errors.As(err, &e) {
								if e.Signal != syscall.SIGKILL {
									t.Error(err)
								}
								died.Add(1)
								heapOf(pool).Give(given)
								continue
							}
							if err != nil {
								t.Error(err)
								return
							}
							want := fill + 1
							if function == "fresh" {
								want = fill
							}
							if bytes.Count(c.Out[0].Data, []byte{want}) != n || len(gives) > 1 && toInt(c.Out[1]) != int64(i) {
								t.Errorf("side %d: %d is %d", side, fill, c.Out[0].Data[0])
							}
							give(pool, c)
							heapOf(pool).Give(given)
							done.Add(1)
							break
						}
					}
				})
			}
			stop := make(chan struct{})
			var killer sync.WaitGroup
			killer.Go(func() {
				random := rand.New(rand.NewPCG(9, 9))
				for seen := int64(0); ; {
					select {
					case <-stop:
						return
					case <-time.After(time.Duration(random.IntN(8000)) * time.Microsecond):
					}
					// Anyone who kills workers that have not begun learns that none can
					// start.
					if now := done.Load(); now > seen+20 {
						seen = now
						if pids := pool.Stats().PIDs; len(pids) > 0 {
							syscall.Kill(pids[random.IntN(len(pids))], syscall.SIGKILL)
						}
					}
				}
			})
			all.Wait()
			close(stop)
			killer.Wait()
			t.Logf("%d calls, %d of them were lost and made again; %+v", done.Load(), died.Load(), pool.Stats())
			if pool.Stats().Restarts == 0 {
				t.Error("nobody was killed")
			}
		})
	}
}

// Who measures wants to begin when workers have started; that one cannot start is no
// reason to wait for ever.
func TestSetWorkersAwaitsThem(t *testing.T) {
	python := interpreter(t)
	python.Directory = t.TempDir()
	pool := open(t, extern.Options{Function: "functions:Arrives", In: intField, Gives: intField, Workers: 1, Interpreter: python})
	pool.Await()
	for _, n := range []int{1, 4, 2} {
		pool.SetWorkers(n)
		there, err := filepath.Glob(filepath.Join(python.Directory, "arrived-*"))
		if err != nil || len(there) < n {
			t.Errorf("%d workers were asked for, and %v are there: %v", n, there, err)
		}
	}
	broken := open(t, extern.Options{Function: "functions:Broken", In: intField, Gives: intField})
	broken.Await()
	broken.SetWorkers(3)
	if err := broken.Call(within(t, time.Minute), &extern.Call{In: []extern.Value{number(1)}}); err == nil {
		t.Error("it has worked")
	}
}

func TestSetWorkers(t *testing.T) {
	for _, threads := range []bool{false, true} {
		pool := open(t, extern.Options{Function: "functions:pid", In: intField, Gives: sample.Schema{{Name: "x", Type: intType}, {Name: "thread", Type: sample.TensorType(tensor.Uint64)}}, Threads: threads})
		ctx := within(t, time.Minute)
		for _, n := range []int{3, 1, 2} {
			pool.SetWorkers(n)
			seen := map[string]bool{}
			var mu sync.Mutex
			for len(seen) < n {
				var all sync.WaitGroup
				for range 2 * n {
					all.Go(func() {
						c := &extern.Call{In: []extern.Value{number(1)}}
						if err := pool.Call(ctx, c); err != nil {
							t.Error(err)
							return
						}
						mu.Lock()
						seen[fmt.Sprint(c.Out[0].Data, c.Out[1].Data)] = true
						mu.Unlock()
						give(pool, c)
					})
				}
				all.Wait()
				if ctx.Err() != nil {
					t.Fatalf("%d of %d workers", len(seen), n)
				}
			}
			for want := map[bool]int{true: 1, false: n}[threads]; len(pool.Stats().PIDs) != want && ctx.Err() == nil; {
				time.Sleep(time.Millisecond)
			}
		}
		pool.Close()
	}
}

func TestValuesThatAreNotWhatWasSaid(t *testing.T) {
	pool := open(t, extern.Options{Function: "functions:same", In: intField, Gives: intField})
	for name, in := range map[string][]extern.Value{
		"none":      nil,
		"two":       {number(1), number(2)},
		"text":      {text("1")},
		"dtype":     {array(tensor.Float64, make([]byte, 8))},
		"shape":     {array(tensor.Int64, make([]byte, 8), 1)},
		"too short": {array(tensor.Int64, make([]byte, 7))},
	} {
		if err := pool.Call(within(t, time.Minute), &extern.Call{In: in}); err == nil || !strings.HasPrefix(err.Error(), "extern: step ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	heap, err := extern.NewHeap()
	if err != nil {
		t.Fatal(err)
	}
	defer heap.Close()
	good := extern.Options{Stage: "step", Function: "functions:same", Kind: extern.Map, Heap: heap, In: intField, Gives: intField}
	for want, change := range map[string]func(*extern.Options){
		"a pool needs a heap":             func(o *extern.Options) { o.Heap = nil },
		`"" is not a kind of function`:    func(o *extern.Options) { o.Kind = "" },
		"what step is given":              func(o *extern.Options) { o.In = sample.Schema{{}} },
		"what step gives":                 func(o *extern.Options) { o.Gives = sample.Schema{{}} },
		"threads share the generators of": func(o *extern.Options) { o.Threads, o.Workers, o.Seed = true, 2, []string{"random"} },
	} {
		o := good
		change(&o)
		if _, err := extern.Open(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
}
