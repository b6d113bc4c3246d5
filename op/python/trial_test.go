package python

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// described returns a host that starts no process, with functions that are tried.
func described(t *testing.T) *Host {
	t.Helper()
	leak.Check(t)
	h, err := NewHost(nil, nil, true, 2, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

var number = sample.Schema{{Name: "n", Type: sample.TensorType(tensor.Int64)}}

func mapOf(t *testing.T, h *Host) *extern.Pool {
	t.Helper()
	p, _, err := h.Open("map", &recipe.Python{Function: "m:f"}, extern.Options{Kind: extern.Map, In: number, Gives: number}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func valueOf(n int64) extern.Value {
	return extern.Value{Kind: sample.Tensor, DType: tensor.Int64, Data: binary.NativeEndian.AppendUint64(nil, uint64(n))}
}

func called(index, in int64) *extern.Call {
	return &extern.Call{ID: sample.ID{Source: "source", Index: index}, In: []extern.Value{valueOf(in)}}
}

// try has a function make 2 of 1, of the sample 4.
func try(t *testing.T, h *Host, drew [2]uint64, during func(*extern.Call)) {
	t.Helper()
	p, c := mapOf(t, h), called(4, 1)
	c.Random = drew
	trial := h.begin(p, c)
	if trial == nil {
		t.Fatal("it is no trial")
	}
	c.Out, c.Same, c.Keep, c.Took = []extern.Value{valueOf(2)}, []int{-1}, true, time.Second
	if during != nil {
		during(c)
	}
	h.keep("map", p, c, trial, number)
	h.Renew(2, false)
}

// A sample that was tried comes once as it was then, without a call, wherever in an epoch
// it is.
func TestATrialIsUsedOnce(t *testing.T) {
	h := described(t)
	try(t, h, [2]uint64{}, nil)
	p := mapOf(t, h)
	c := called(4, 1)
	c.ID.Pos = 77
	if !h.recall("map", p, c, number) || !c.Keep || len(c.Out) != 1 || !slices.Equal(c.Out[0].Data, valueOf(2).Data) || c.Took != 0 {
		t.Fatalf("%+v", c)
	}
	if l := p.Links(); l[0].Calls != 1 || l[0].Time != time.Second {
		t.Errorf("it is not counted as a call: %+v", l)
	}
	h.Heap.Give(c.Out[0].Data)
	if h.recall("map", p, called(4, 1), number) {
		t.Error("it came twice")
	}
	if h.begin(p, c) != nil {
		t.Error("calls of the run are trials")
	}
}

func TestATrialThatDoesNotCount(t *testing.T) {
	key := [2]uint64{5, 6}
	small := make([]byte, 4)
	for what, c := range map[string]struct {
		drew   [2]uint64
		during func(*extern.Call)
		name   string
		call   *extern.Call
		forget bool
	}{
		"another sample":       {call: called(5, 1)},
		"another value":        {call: called(4, 3)},
		"another function":     {call: called(4, 1), name: "map_2"},
		"other random numbers": {drew: key, call: called(4, 1)},
		"an argument that was changed": {call: called(4, 1), during: func(c *extern.Call) {
			c.In[0].Data[0] = 9
		}},
		"room that is too small": {call: func() *extern.Call {
			c := called(4, 1)
			c.Room = [][]byte{small}
			return c
		}()},
		"results of another type": {call: called(4, 1), during: func(c *extern.Call) { c.Out[0].DType = tensor.Uint64 }},
		"forgotten":               {call: called(4, 1), forget: true},
		"too much to keep": {call: called(4, 1), during: func(c *extern.Call) {
			c.Out[0].Data = make([]byte, mostTrials+1)
		}},
	} {
		t.Run(what, func(t *testing.T) {
			h := described(t)
			try(t, h, c.drew, c.during)
			if c.forget {
				h.Forget()
			}
			name := c.name
			if name == "" {
				name = "map"
			}
			if h.recall(name, mapOf(t, h), c.call, number) {
				t.Errorf("it is used: %+v", c.call)
			}
		})
	}
}

// What a filter has left out stays out, whatever it gives.
func TestATrialThatLeftOut(t *testing.T) {
	h := described(t)
	try(t, h, [2]uint64{5, 6}, func(c *extern.Call) { c.Keep, c.Out, c.Same = false, nil, nil })
	c := called(4, 1)
	c.Random = [2]uint64{5, 6}
	if !h.recall("map", mapOf(t, h), c, nil) || c.Keep {
		t.Errorf("%+v", c)
	}
}
