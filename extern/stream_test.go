package extern_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

var errEnough = errors.New("enough")

// ints streams a call's samples into a list.
func ints(t testing.TB, pool *extern.Pool, c *extern.Call) (all []int64, err error) {
	t.Helper()
	err = pool.Stream(within(t, time.Minute), c, func(vs []extern.Value) error {
		all = append(all, toInt(vs[0]))
		heapOf(pool).Give(vs[0].Data)
		return nil
	})
	return all, err
}

func TestLargeResultsOfGenerators(t *testing.T) {
	pool := open(t, extern.Options{Function: "functions:big_parts", Kind: extern.FlatMap, In: intField, Gives: sample.Schema{{Name: "image", Type: sample.TensorType(tensor.Float32, 300, 300)}}})
	i := 0
	err := pool.Stream(within(t, time.Minute), &extern.Call{In: []extern.Value{number(50)}}, func(vs []extern.Value) error {
		data := vs[0].Data
		last := math.Float32frombits(uint32(data[len(data)-4]) | uint32(data[len(data)-3])<<8 | uint32(data[len(data)-2])<<16 | uint32(data[len(data)-1])<<24)
		if len(data) != 360000 || last != float32(i) {
			t.Errorf("the %d-th has %d bytes and ends in %v", i, len(data), last)
		}
		heapOf(pool).Give(data)
		i++
		return nil
	})
	if err != nil || i != 50 {
		t.Errorf("%d, %v", i, err)
	}
}

// Large arrays of a stream are written where the caller says, if that is possible; and he
// is asked before the sample is there.
func TestStreamsIntoASegment(t *testing.T) {
	const n = 360000
	fd, memory := segment(t, 5*n)
	pool := open(t, extern.Options{Function: "functions:big_parts", Kind: extern.FlatMap, In: intField, Gives: sample.Schema{{Name: "image", Type: sample.TensorType(tensor.Float32, 300, 300)}}})
	if err := pool.Segment(fd, 3, memory); err != nil {
		t.Fatal(err)
	}
	places := [][]byte{memory[:n], nil, memory[n:][:n-1], make([]byte, n), memory[n:][:n], memory[3*n:][:n+1], memory[4*n:][:n]}
	wants := []bool{true, false, false, false, true, false, true}

	i, asked := 0, 0
	place := func(item, field int) []byte {
		if item != i || field != 0 {
			t.Errorf("asked for field %d of sample %d when %d had come", field, item, i)
		}
		asked++
		return places[item]
	}
	err := pool.Stream(within(t, time.Minute), &extern.Call{In: []extern.Value{number(int64(len(places)))}, Place: place}, func(vs []extern.Value) error {
		data := vs[0].Data
		if is := len(places[i]) > 0 && &data[0] == &places[i][0]; is != wants[i] {
			t.Errorf("sample %d is where it was wanted: %v", i, is)
		}
		if last := math.Float32frombits(binary.LittleEndian.Uint32(data[n-4:])); last != float32(i) {
			t.Errorf("sample %d ends in %v", i, last)
		}
		heapOf(pool).Give(data) // which leaves the segment alone
		i++
		return nil
	})
	if err != nil || i != len(places) || asked != i {
		t.Errorf("%d of %d were asked for: %v", asked, i, err)
	}
}

// A generator without end is ahead by a few samples, and ends when nobody wants more.
func TestAGeneratorDoesNotRunAway(t *testing.T) {
	var n notes
	pool := open(t, extern.Options{Function: "functions:endless", Kind: extern.FlatMap, In: intField, Gives: intField, Log: n.add})
	for range 3 {
		before := len(n.all())
		taken := 0
		err := pool.Stream(within(t, time.Minute), &extern.Call{In: []extern.Value{number(0)}}, func(vs []extern.Value) error {
			heapOf(pool).Give(vs[0].Data)
			if taken++; taken == 5 {
				time.Sleep(100 * time.Millisecond) // so that it can run ahead if it does
				return errEnough
			}
			return nil
		})
		if !errors.Is(err, errEnough) || taken != 5 {
			t.Errorf("%d, %v", taken, err)
		}
		if made := len(n.all()) - before; made > 5+3*16 {
			t.Errorf("%d were made where 5 were taken", made)
		}
	}
}

// Each Begin makes an object again, of a class, of an object that is imported, and of a
// pickle; that of the call before is closed.
func TestAggregatorsBeginAnew(t *testing.T) {
	for _, function := range []string{"Gathering", "gathering"} {
		var n notes
		pool := open(t, extern.Options{Function: "functions:" + function, Kind: extern.Aggregate, In: intField, Gives: intField, Log: n.add})
		for round := range 3 {
			for i, want := range []string{"[]", "[0 1]", "[]"} {
				got, err := ints(t, pool, &extern.Call{In: []extern.Value{number(int64(i))}, Begin: i == 0})
				if err != nil || fmt.Sprint(got) != want {
					t.Errorf("%s, round %d: of %d comes %v, %v", function, round, i, got, err)
				}
			}
		}
		pool.Close()
		if closed := strings.Count(fmt.Sprint(n.all()), "closed with 1"); closed != 3 {
			t.Errorf("%s: closed %d times", function, closed)
		}
	}
}

// What an object had gathered is lost with its process. Nobody takes another one for it,
// but the next epoch begins with a new object.
func TestAggregatorsWhoseWorkerDies(t *testing.T) {
	pool := open(t, extern.Options{Function: "functions:Gathering", Kind: extern.Aggregate, In: intField, Gives: intField})
	give := func(x int64, begin bool) ([]int64, error) {
		return ints(t, pool, &extern.Call{In: []extern.Value{number(x)}, Begin: begin})
	}
	if _, err := give(1, false); err == nil || !strings.Contains(err.Error(), "has no object yet") {
		t.Error(err)
	}
	if _, err := give(1, true); err != nil {
		t.Error(err)
	}
	var dead *extern.WorkerError
	if _, err := give(-9, false); !errors.As(err, &dead) || dead.Signal != syscall.SIGKILL {
		t.Error(err)
	}
	var lost *extern.LostError
	for range 2 {
		if _, err := give(2, false); !errors.As(err, &lost) || err.Error() != "the worker of step was ended by SIGKILL (killed), and what its object had gathered is lost" {
			t.Error(err)
		}
	}
	for i, want := range []string{"[]", "[5 5]"} {
		if got, err := give(5, i == 0); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%v, %v", got, err)
		}
	}
	// A process that is ended between two calls is missed as well.
	if _, err := give(7, true); err != nil {
		t.Error(err)
	}
	for _, pid := range pool.Stats().PIDs {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	if _, err := give(8, false); err == nil || !errors.As(err, &lost) && !errors.As(err, &dead) {
		t.Error(err)
	}
}

// Workers write the arrays of a batch where they belong, one after the other, as far as
// there is room.
func TestCollateIntoASegment(t *testing.T) {
	const room = 1 << 20
	fd, memory := segment(t, room)
	in := sample.Schema{{Name: "n", Type: intType}}
	gives := sample.Schema{
		{Name: "wide", Type: sample.TensorType(tensor.Float32, tensor.Unknown, 3)}, {Name: "n", Type: intType}, {Name: "small", Type: sample.TensorType(tensor.Uint8, tensor.Unknown)},
		{Name: "name", Type: sample.TextType}, {Name: "tall", Type: sample.TensorType(tensor.Int32, tensor.Unknown)},
	}
	pool := open(t, extern.Options{Function: "functions:ragged", Kind: extern.Collate, In: in, Gives: gives})
	if err := pool.Segment(fd, 3, memory); err != nil {
		t.Fatal(err)
	}
	empty := int64(-1) // bytes of the heap that are held but for results: the worker's cell
	// A batch has 20 n bytes and more; from 87382 on, not even the first array fits.
	for _, n := range []int{5, 1000, 0, 20000, 52000, 52001, 60000, 87381, 90000, 6, 150000} {
		c := &extern.Call{Rows: 1, In: []extern.Value{number(int64(n))}, Whole: memory}
		if err := pool.Call(within(t, time.Minute), c); err != nil {
			t.Fatalf("%d: %v", n, err)
		}
		at, fit := 0, true
		for f, v := range c.Out {
			if v.Kind == sample.Text {
				if v.Text != fmt.Sprint(n) {
					t.Errorf("%d: the text is %q", n, v.Text)
				}
				continue
			}
			fit = fit && at+len(v.Data) <= room
			if is := len(v.Data) > 0 && &v.Data[0] == &memory[min(at, room-1)]; is != (fit && len(v.Data) > 0 && f != 1) {
				t.Errorf("%d: %q of %d bytes is where it belongs: %v", n, gives[f].Name, len(v.Data), is)
			}
			at = (at + len(v.Data) + extern.WholeAlign - 1) / extern.WholeAlign * extern.WholeAlign
		}
		le := binary.LittleEndian
		wide, small, tall := c.Out[0], c.Out[2], c.Out[4]
		if !wide.Shape.Equal(tensor.Shape{n, 3}) || !small.Shape.Equal(tensor.Shape{n % 7}) || !tall.Shape.Equal(tensor.Shape{2 * n}) || toInt(c.Out[1]) != int64(n) {
			t.Errorf("%d: %v", n, c.Out)
		}
		for i := 0; i < len(wide.Data); i += 4 {
			if math.Float32frombits(le.Uint32(wide.Data[i:])) != float32(n) {
				t.Fatalf("%d: wide is wrong at %d", n, i)
			}
		}
		for i, b := range small.Data {
			if b != byte(i) {
				t.Fatalf("%d: small is %v", n, small.Data)
			}
		}
		for i := 0; i < len(tall.Data); i += 4 {
			if int32(le.Uint32(tall.Data[i:])) != int32(-n) {
				t.Fatalf("%d: tall is wrong at %d", n, i)
			}
		}
		give(pool, c)
		held := heapOf(pool).Held()
		if empty < 0 {
			empty = held
		}
		if held != empty {
			t.Fatalf("%d: %d bytes of the heap are held, and %d were before", n, held, empty)
		}
	}
}

func TestWhatIsWrongWithAStream(t *testing.T) {
	for function, want := range map[string]string{"same": "returned a dict, not an iterable", "mean": "TypeError"} {
		pool := open(t, extern.Options{Function: "functions:" + function, Kind: extern.FlatMap, In: intField, Gives: intField})
		if _, err := ints(t, pool, &extern.Call{In: []extern.Value{number(1)}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", function, err)
		}
		pool.Close()
	}
	for _, kind := range []extern.Kind{extern.Aggregate, extern.Index} {
		pool := open(t, extern.Options{Function: "functions:same", Kind: kind, In: sample.Schema{}, Gives: intField})
		var e *extern.StartError
		if err := pool.Call(within(t, time.Minute), &extern.Call{}); !errors.As(err, &e) || !strings.Contains(err.Error(), "functions:same") {
			t.Errorf("%s: %v", kind, err)
		}
		pool.Close()
	}
}

// Who takes a stream's samples may take his time: the limit is on making them.
func TestASlowReaderIsNoHungGenerator(t *testing.T) {
	pool := open(t, extern.Options{Function: "functions:parts", Kind: extern.FlatMap, In: intField, Gives: intField, Limit: 200 * time.Millisecond})
	if _, err := ints(t, pool, &extern.Call{In: []extern.Value{number(1)}}); err != nil { // it has started
		t.Fatal(err)
	}
	taken := 0
	err := pool.Stream(within(t, time.Minute), &extern.Call{In: []extern.Value{number(100)}}, func(vs []extern.Value) error {
		heapOf(pool).Give(vs[0].Data)
		if taken++; taken < 4 || taken > 97 {
			time.Sleep(300 * time.Millisecond)
		}
		return nil
	})
	if err != nil || taken != 100 {
		t.Errorf("%d, %v", taken, err)
	}
}
