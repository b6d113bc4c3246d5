package pack

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/headrace/headrace/extern/internal/conn"
	"github.com/headrace/headrace/extern/internal/message"
	"github.com/headrace/headrace/extern/internal/shared"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
	"github.com/headrace/headrace/wire"
	"github.com/headrace/headrace/wire/wiretest"
)

var (
	vector = sample.TensorType(tensor.Uint8, tensor.Unknown)
	one    = sample.Schema{{Name: "x", Type: vector}}
)

// function returns a function with a heap, which must be empty when the test ends.
func function(t *testing.T, kind Kind, in, gives sample.Schema) *Function {
	t.Helper()
	heap, err := shared.NewHeap()
	if err != nil {
		t.Fatal(err)
	}
	spaces := new(shared.Spaces)
	spaces.Init(heap)
	t.Cleanup(func() {
		if n := heap.Held(); n != 0 {
			t.Errorf("%d bytes of the heap are in use at the end", n)
		}
		spaces.Close()
		heap.Close()
	})
	of := &Function{Stage: "step", Kind: kind, In: in, Gives: gives, Heap: heap, Spaces: spaces}
	of.Init()
	return of
}

// packOf returns an open pack of these calls, and the calls that it completes, by number.
func packOf(t *testing.T, of *Function, calls ...*Call) (*Pack, map[int]error) {
	t.Helper()
	done := map[int]error{}
	k := &Pack{PID: 7, Worked: new(atomic.Bool)}
	k.Done = func(first int, errs ...error) {
		for i, err := range errs {
			if _, twice := done[first+i]; twice {
				t.Errorf("call %d is done twice", first+i)
			}
			done[first+i] = err
		}
	}
	k.Reset(of)
	for _, c := range calls {
		k.Add(&Task{Call: c, Ctx: t.Context()})
	}
	k.Open()
	return k, done
}

// linked gives a pack a connection, and returns the worker's end.
func linked(t *testing.T, k *Pack) *wire.Conn {
	t.Helper()
	ours, worker := wiretest.Pair(t)
	k.Conn = conn.New(ours)
	return worker
}

// told is a RESULTS message of samples from a first one on.
type told struct {
	first    int64
	more     bool    // it is not the last
	returned bool    // samples after the one in work go back
	states   []int64 // of the samples
	columns  []int64
	data     string
	tail     string
}

func (m told) payload() []byte {
	flags := int64(1)
	if m.more {
		flags = 0
	}
	if m.returned {
		flags |= 4
	}
	words := []int64{m.first, int64(len(m.states)), flags, int64(len(m.tail)), int64(8 * (6 + len(m.states) + len(m.columns))), 0}
	var b []byte
	for _, w := range slices.Concat(words, m.states, m.columns) {
		b = binary.LittleEndian.AppendUint64(b, uint64(w))
	}
	return append(append(b, m.data...), m.tail...)
}

// at is a place in one of the spaces of a message.
func at(where, offset int64) int64 { return where<<message.PlaceBits | offset }

// Each result is in memory that has one owner: the heap is empty once the caller has
// given back what is its own.
func TestOwnershipOfResults(t *testing.T) {
	text := sample.Schema{{Name: "x", Type: sample.TextType}}
	input, result := strings.Repeat("i", 8000), strings.Repeat("r", 8000)
	for name, c := range map[string]struct {
		gives   sample.Schema
		column  []int64
		data    string
		room    func(h *shared.Heap) []byte // of the caller's
		granted string                      // the worker has asked for memory, and wrote this
		want    string
		same    int  // Call.Same
		inRoom  bool // it must be in the caller's room
		err     string
	}{
		"an input":                         {column: []int64{at(message.IsSame, 0), 8000}, want: input, same: 0},
		"an input, copied to a room":       {column: []int64{at(message.IsSame, 0), 8000}, room: elsewhere(9000), want: input, same: -1, inRoom: true},
		"an input, larger than its room":   {column: []int64{at(message.IsSame, 0), 8000}, room: elsewhere(7999), err: "8000 bytes, and there is room for 7999"},
		"an input that is not there":       {column: []int64{at(message.IsSame, 1), 8000}, err: "a result is input 1 of 1"},
		"an input of another type":         {gives: sample.Schema{{Name: "x", Type: sample.TensorType(tensor.Float32, 2000)}}, column: []int64{at(message.IsSame, 0), 2000}, err: "an input of another type"},
		"a piece that was asked for":       {column: []int64{at(message.InRoom, 0), 8000}, granted: result, want: result, same: -1},
		"such a piece, copied to a room":   {column: []int64{at(message.InRoom, 0), 8000}, granted: result, room: elsewhere(9000), want: result, same: -1, inRoom: true},
		"such a piece, larger than a room": {column: []int64{at(message.InRoom, 0), 8000}, granted: result, room: elsewhere(10), err: "room for 10"},
		"text in such a piece":             {gives: text, column: []int64{at(message.InRoom, 0), 8000}, granted: result, want: result, same: -1},
		"a room that workers can write to": {column: []int64{at(message.InRoom, 0), 8000}, room: inHeap(8000), want: "", same: -1, inRoom: true},
		"more than was asked for":          {column: []int64{at(message.InRoom, 0), 8001}, granted: result, err: "where there is no room for it"},
		"no piece at all":                  {column: []int64{at(message.InRoom, 0), 8000}, err: "where there is no room for it"},
		"data of the message":              {column: []int64{at(0, 3), 4}, data: "xyzdatax", want: "data", same: -1},
		"data, copied to a room":           {column: []int64{at(0, 3), 4}, data: "xyzdatax", room: elsewhere(4), want: "data", same: -1, inRoom: true},
		"data, larger than a room":         {column: []int64{at(0, 3), 4}, data: "xyzdatax", room: elsewhere(3), err: "4 bytes, and there is room for 3"},
		"text of the message":              {gives: text, column: []int64{at(0, 3), 4}, data: "xyztextx", want: "text", same: -1},
		"a batch's memory without one":     {column: []int64{at(message.InWhole, 0), 4}, err: "where it does not belong"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.gives == nil {
				c.gives = one
			}
			of := function(t, Map, one, c.gives)
			own := of.Heap.Take(len(input))
			defer of.Heap.Give(own)
			copy(own, input)
			call := &Call{In: []Value{{Kind: sample.Tensor, DType: tensor.Uint8, Shape: tensor.Shape{len(own)}, Data: own}}}
			var room []byte
			if c.room != nil {
				room = c.room(of.Heap)
				defer of.Heap.Give(room) // which leaves alone what is not the heap's
				call.Room = [][]byte{room}
			}

			k, done := packOf(t, of, call)
			k.Conn = conn.New(nil) // nothing is sent
			k.begin(1, false, false, false)
			defer k.Forget(of.Heap)
			if c.granted != "" {
				piece := of.Heap.Take(len(c.granted))
				copy(piece, c.granted)
				k.grants = append(k.grants, grant{0, 0, piece})
			}

			_, err := k.results(told{states: []int64{0}, columns: append([]int64{message.Apart}, c.column...), data: c.data}.payload())
			if err == nil {
				err = done[0]
			} else if !errors.Is(err, wire.ErrProtocol) || len(done) != 0 {
				t.Errorf("%v, with %v done", err, done)
			}
			k.Release()
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("the error is %v, want %q", err, c.err)
				}
				if len(call.Out) != 0 {
					t.Errorf("%d results are left", len(call.Out))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}

			v := call.Out[0]
			if got := string(v.Data) + v.Text; c.want != "" && got != c.want {
				t.Errorf("it has %d bytes: %.20q", len(got), got)
			}
			if call.Same[0] != c.same {
				t.Errorf("it is input %d", call.Same[0])
			}
			if in := within(room, v.Data); in != c.inRoom {
				t.Errorf("it is in the caller's room: %v", in)
			}
			if !c.inRoom && call.Same[0] < 0 {
				of.Heap.Give(v.Data)
			}
		})
	}
}

func elsewhere(n int) func(*shared.Heap) []byte {
	return func(*shared.Heap) []byte { return make([]byte, n) }
}

func inHeap(n int) func(*shared.Heap) []byte {
	return func(h *shared.Heap) []byte { return h.Take(n) }
}

// Two results that are one input would be changed through each other.
func TestAnInputIsOneResult(t *testing.T) {
	of := function(t, Map, one, sample.Schema{one[0], {Name: "y", Type: vector}})
	data := of.Heap.Take(64)
	defer of.Heap.Give(data)
	k, _ := packOf(t, of, &Call{In: []Value{{Kind: sample.Tensor, DType: tensor.Uint8, Shape: tensor.Shape{64}, Data: data}}})
	column := []int64{message.Apart, at(message.IsSame, 0), 64}
	_, err := k.results(told{states: []int64{0}, columns: append(column, column...)}.payload())
	if !errors.Is(err, wire.ErrProtocol) || !strings.Contains(err.Error(), "two results are input 0") {
		t.Error(err)
	}
}

// Arrays of a batch follow one another in the memory for all of them, and stay there.
func TestArraysOfABatch(t *testing.T) {
	gives := sample.Schema{one[0], {Name: "y", Type: vector}}
	for name, c := range map[string]struct {
		second int64
		err    string
	}{"the next place": {64, ""}, "another place": {128, "where it does not belong"}, "over the first": {0, "where it does not belong"}} {
		t.Run(name, func(t *testing.T) {
			of := function(t, Collate, sample.Schema{}, gives)
			whole := of.Heap.Take(256)
			defer of.Heap.Give(whole)
			call := &Call{Rows: 2, Whole: whole}
			k, done := packOf(t, of, call)
			k.Conn = conn.New(nil)
			k.begin(1, false, false, false)
			columns := []int64{message.Apart, at(message.InWhole, 0), 10, message.Apart, at(message.InWhole, c.second), 20}
			_, err := k.results(told{states: []int64{0}, columns: columns}.payload())
			k.Release()
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Error(err)
				}
				return
			}
			if err != nil || done[0] != nil {
				t.Fatal(err, done)
			}
			if x, y := call.Out[0].Data, call.Out[1].Data; len(x) != 10 || len(y) != 20 || unsafe.SliceData(y) != &whole[64] || cap(y) != 20 {
				t.Errorf("%d and %d bytes", len(x), len(y))
			}
		})
	}
}

// Calls come back in order, some failed and some dropped; the rest may be returned.
func TestResultsOfAPack(t *testing.T) {
	of := function(t, Filter, sample.Schema{}, sample.Schema{})
	calls := []*Call{{}, {}, {}, {}, {}}
	k, done := packOf(t, of, calls...)
	var back []int
	k.Back = func(from int) { back = append(back, from) }

	took := int64(5000)
	last, err := k.results(told{more: true, states: []int64{took << 2, message.ItemDropped}}.payload())
	if err != nil || last || k.Reported() != 2 || !calls[0].Keep || calls[1].Keep || calls[0].Took != time.Duration(took) || !k.Worked.Load() {
		t.Errorf("%v, %v, %d reported: %+v", err, last, k.Reported(), calls[:2])
	}

	failed := told{first: 2, more: true, returned: true, states: []int64{message.ItemFailed}, tail: `{"failures":[{"item":2,"type":"ValueError","message":"no"}]}`}
	if _, err = k.results(failed.payload()); err != nil {
		t.Fatal(err)
	}
	var call *message.CallError
	if !errors.As(done[2], &call) || call.Message != "no" || !slices.Equal(back, []int{4}) {
		t.Errorf("%v, back from %v", done[2], back)
	}

	last, err = k.results(told{first: 3, states: []int64{0}}.payload())
	if err != nil || !last || len(done) != 4 || done[3] != nil {
		t.Errorf("%v, %v, %v", err, last, done)
	}
}

// Whatever is wrong with results, calls that came back before it are complete.
func TestResultsThatAreWrong(t *testing.T) {
	for name, c := range map[string]struct {
		kind Kind
		told told
		err  string
		done int
	}{
		"not the next":                 {Filter, told{first: 1, states: []int64{0}}, "samples 1 to 2 of 2", 0},
		"too many":                     {Filter, told{states: []int64{0, 0, 0}}, "samples 0 to 3 of 2", 0},
		"the last too early":           {Filter, told{states: []int64{0}}, "samples 0 to 1 of 2", 0},
		"not the last":                 {Filter, told{more: true, states: []int64{0, 0}}, "samples 0 to 2 of 2", 0},
		"a failure without a reason":   {Filter, told{states: []int64{0, message.ItemFailed}}, "without a reason", 1},
		"a sample that a map drops":    {Map, told{states: []int64{0, message.ItemDropped}}, "not by a filter", 1},
		"none returned after the last": {Filter, told{more: true, returned: true, states: []int64{0}}, "return samples from 2 on of 2", 1},
	} {
		t.Run(name, func(t *testing.T) {
			k, done := packOf(t, function(t, c.kind, sample.Schema{}, sample.Schema{}), &Call{}, &Call{})
			_, err := k.results(c.told.payload())
			if !errors.Is(err, wire.ErrProtocol) || !strings.Contains(err.Error(), c.err) {
				t.Errorf("the error is %v, want %q", err, c.err)
			}
			if len(done) != c.done {
				t.Errorf("%d calls are done, want %d", len(done), c.done)
			}
			if _, err := k.Receive(wire.Frame{Kind: wire.KindBatch}); !errors.Is(err, wire.ErrProtocol) {
				t.Error(err)
			}
			if _, err := k.Receive(wire.Frame{Kind: wire.KindError, Payload: []byte("why")}); !errors.Is(err, conn.ErrGivenUp) {
				t.Error(err)
			}
		})
	}
}

// A coroutine that was cancelled has taken too long.
func TestOverdue(t *testing.T) {
	of := function(t, Map, sample.Schema{}, sample.Schema{})
	of.Limit = time.Second
	k, done := packOf(t, of, &Call{})
	if _, err := k.results(told{states: []int64{message.ItemFailed}, tail: `{"failures":[{"item":0,"overdue":true,"traceback":"here"}]}`}.payload()); err != nil {
		t.Fatal(err)
	}
	want := "step took longer than its time limit of 1s; the call was cancelled; it was here:\nhere"
	if err := done[0]; err == nil || err.Error() != want || !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	ended := &LimitError{Stage: "step", PID: 7, Limit: time.Minute}
	if got := ended.Error(); got != "step took longer than its time limit of 1m0s; its worker (process 7) was ended" {
		t.Error(got)
	}
}

// A worker that asks for memory gets a piece of the heap, of a size that makes sense.
func TestGrants(t *testing.T) {
	leak.Check(t)
	of := function(t, Map, sample.Schema{}, one)
	k, _ := packOf(t, of, &Call{})
	worker := linked(t, k)
	ask := func(words ...uint64) []byte {
		var b []byte
		for _, w := range words {
			b = word(b, w)
		}
		return b
	}

	if _, err := k.Receive(wire.Frame{Kind: wire.KindRoom, Payload: ask(0, 0, 5000)}); err != nil {
		t.Fatal(err)
	}
	f, err := worker.Receive()
	if err != nil || f.Kind != wire.KindRoom {
		t.Fatalf("%+v, %v", f, err)
	}
	place := binary.LittleEndian.Uint64(f.Payload)
	if at, in := of.Spaces.Find(k.grants[0].memory); in == nil || at != place {
		t.Errorf("the worker writes at %#x, not %#x", place, at)
	}
	if got := k.taken(0, 1, 5000); got != nil {
		t.Error("another field has that memory")
	}
	if got := k.taken(0, 0, 5000); len(got) < 5000 {
		t.Errorf("it has %d bytes", len(got))
	} else {
		of.Heap.Give(got)
	}
	if k.taken(0, 0, 0) != nil {
		t.Error("it is taken twice")
	}

	for name, payload := range map[string][]byte{
		"half a message":      ask(0, 0),
		"nothing":             ask(0, 0, 0),
		"more than is decent": ask(0, 0, 1<<60),
		"no such field":       ask(0, message.MostFields, 10),
		"no such sample":      ask(1<<40, 0, 10),
	} {
		if err := k.grant(payload); !errors.Is(err, wire.ErrProtocol) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for len(k.grants) < 4*message.MostCalls {
		k.grants = append(k.grants, grant{})
	}
	if err := k.grant(ask(0, 0, 10)); !errors.Is(err, wire.ErrProtocol) {
		t.Errorf("too many: %v", err)
	}
	k.Release()
}

// A function that was interrupted is called again with the inputs it had at first.
func TestRestore(t *testing.T) {
	of := function(t, Map, one, one)
	data := of.Heap.Take(copyMost + 1)
	defer of.Heap.Give(data)
	copy(data, "as it was")
	k, _ := packOf(t, of, &Call{In: []Value{{Kind: sample.Tensor, DType: tensor.Uint8, Shape: tensor.Shape{len(data)}, Data: data}}})
	k.Conn = conn.New(nil)
	k.begin(1, false, false, false)
	defer k.Forget(of.Heap)
	defer k.Release()
	copy(k.saved, data) // as the worker does before it calls the function
	copy(data, "was changed")
	if !k.Restore(0) || string(data[:9]) != "as it was" {
		t.Errorf("it is %q", data[:9])
	}

	k.safe = false
	if k.Restore(0) {
		t.Error("nothing was saved, and it is restored")
	}
}

// How much memory a result will take is known from its type, or from those before it.
func TestExpected(t *testing.T) {
	of := function(t, Map, nil, sample.Schema{{Name: "fixed", Type: sample.TensorType(tensor.Float32, 100, 100)}, one[0]})
	if got := of.expected(0); got != 40000 {
		t.Errorf("a fixed size is %d", got)
	}
	for _, n := range []int64{0, 30000, 20000} {
		of.noteSize(1, n)
	}
	of.noteSize(2, 1<<30) // a field that was found out
	if got := of.expected(1); got != 30000 {
		t.Errorf("the largest is %d", got)
	}
	if got, want := of.Ahead(), int64((streamCredit+1)*aheadSamples*inlineMost+70000); got != want {
		t.Errorf("a stream is %d ahead, want %d", got, want)
	}
	if !of.HasArrays() || function(t, Map, nil, sample.Schema{{Name: "n", Type: sample.TensorType(tensor.Int64)}}).HasArrays() {
		t.Error("numbers are no arrays")
	}
}

// Calls that travel alone, and the bytes that travel with a message.
func TestTasks(t *testing.T) {
	of := function(t, Map, nil, nil)
	large := of.Heap.Take(inlineMost + 1)
	defer of.Heap.Give(large)
	c := &Call{In: []Value{{Text: "text"}, {Data: make([]byte, 10)}, {Data: large}, {Data: make([]byte, 2*inlineMost)}}}
	if got, want := (&Task{Call: c}).Small(of.Heap), 4+10+2*inlineMost; got != want {
		t.Errorf("%d bytes travel with the message, want %d", got, want)
	}
	if (&Task{Call: c}).Alone() {
		t.Error("a plain call travels alone")
	}
	for _, c := range []*Call{{Flush: true}, {State: []byte{}}, {Rows: 1}} {
		if !(&Task{Call: c}).Alone() {
			t.Errorf("%+v travels with others", c)
		}
	}
	if c.Out = []Value{{Text: "abc"}, {Data: make([]byte, 5)}}; c.Bytes() != 8 {
		t.Errorf("its results have %d bytes", c.Bytes())
	}
}
