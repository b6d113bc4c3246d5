package extern_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// hostile has workers that break the protocol in this way.
func hostile(t *testing.T, how string) *extern.Interpreter {
	folder, err := filepath.Abs("testdata/hostile")
	if err != nil {
		t.Fatal(err)
	}
	python := interpreter(t)
	python.Environment = append(python.Environment, "PYTHONPATH="+folder, "HOSTILE="+how)
	return python
}

// A worker that breaks the protocol is ended, its sample is reported why, and nothing
// else comes of it.
func TestHostileWorkers(t *testing.T) {
	for _, how := range []string{"short", "garbage", "cell", "same", "negative same", "room", "whole", "dropped", "too many", "not all", "later", "no reason", "huge room", "ROOM", "kind", "returns", "unknown", "length", "number", "rooms", "error",
		"start", "mute"} {
		t.Run(how, func(t *testing.T) {
			pool := open(t, extern.Options{Function: "functions:same", In: intField, Gives: intField, Interpreter: hostile(t, how)})
			err := pool.Call(within(t, time.Minute), &extern.Call{In: []extern.Value{number(1)}})
			var start *extern.StartError
			if how == "start" || how == "mute" || how == "error" {
				if !errors.As(err, &start) {
					t.Error(err)
				}
			} else if err == nil || !strings.Contains(err.Error(), "was ended for what it sent") {
				t.Error(err)
			}
		})
	}
}

// Memory for all arrays of a batch has one place for each of them, and none for anything
// else.
func TestHostileWorkersAndAllArrays(t *testing.T) {
	arrays := sample.Schema{{Name: "a", Type: sample.TensorType(tensor.Uint8, tensor.Unknown)}, {Name: "b", Type: sample.TensorType(tensor.Uint8, tensor.Unknown)}}
	withText := sample.Schema{arrays[0], {Name: "b", Type: sample.TextType}}
	for how, gives := range map[string]sample.Schema{"whole too early": arrays, "whole too late": arrays, "whole too long": arrays, "whole text": withText} {
		t.Run(how, func(t *testing.T) {
			pool := open(t, extern.Options{Function: "functions:same", Kind: extern.Collate, In: intField, Gives: gives, Interpreter: hostile(t, how)})
			memory := heapOf(pool).Take(128)
			defer heapOf(pool).Give(memory)
			err := pool.Call(within(t, time.Minute), &extern.Call{Rows: 1, In: []extern.Value{number(1)}, Whole: memory[:128:128]})
			if err == nil || !strings.Contains(err.Error(), "where it does not belong") {
				t.Error(err)
			}
		})
	}
}

// A batch is no sample's value, whose memory is given back before, and is not dropped.
// Nobody writes where nothing was offered.
func TestHostileWorkersAndBatches(t *testing.T) {
	for _, how := range []string{"first", "dropped", "whole", "returns"} {
		t.Run(how, func(t *testing.T) {
			pool := open(t, extern.Options{Function: "functions:same", Kind: extern.Collate, In: intField, Gives: intField, Interpreter: hostile(t, how)})
			err := pool.Call(within(t, time.Minute), &extern.Call{Rows: 1, In: []extern.Value{number(1)}, Whole: make([]byte, 128)}) // where no worker can write
			if err == nil || !strings.Contains(err.Error(), "was ended for what it sent") {
				t.Error(err)
			}
		})
	}
}

// A result cannot be an input where there is none.
func TestHostileWorkerWithoutInputs(t *testing.T) {
	pool := open(t, extern.Options{Function: "functions:Pairs", Kind: extern.Aggregate, In: intField, Gives: intField, Interpreter: hostile(t, "first")})
	err := pool.Stream(within(t, time.Minute), &extern.Call{Begin: true, Flush: true}, func([]extern.Value) error {
		t.Error("it has given something")
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "was ended for what it sent") {
		t.Error(err)
	}
}

func TestCollateTakesSamples(t *testing.T) {
	pool := open(t, extern.Options{Function: "functions:same", Kind: extern.Collate, In: intField, Gives: intField})
	for _, rows := range []int{0, -1} {
		if err := pool.Call(within(t, time.Minute), &extern.Call{Rows: rows}); err == nil || !strings.Contains(err.Error(), "must be at least one") {
			t.Errorf("%d samples: %v", rows, err)
		}
	}
}
