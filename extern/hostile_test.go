package extern_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"headrace/extern"
)

// A worker that breaks the protocol is ended, its sample is told why, and nothing else comes of it.
func TestHostileWorkers(t *testing.T) {
	folder, err := filepath.Abs("testdata/hostile")
	if err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"short", "garbage", "cell", "same", "negative same", "room", "too many", "not all", "later", "no reason", "huge room", "ROOM", "kind", "unknown", "length", "number", "rooms", "error",
		"start", "mute"} {
		t.Run(how, func(t *testing.T) {
			python := interpreter(t)
			python.Environment = append(python.Environment, "PYTHONPATH="+folder, "HOSTILE="+how)
			pool := open(t, extern.Options{Function: "functions:same", In: intField, Gives: intField, Interpreter: python})
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

// A result cannot be an input where there is none.
func TestHostileWorkerWithoutInputs(t *testing.T) {
	folder, err := filepath.Abs("testdata/hostile")
	if err != nil {
		t.Fatal(err)
	}
	python := interpreter(t)
	python.Environment = append(python.Environment, "PYTHONPATH="+folder, "HOSTILE=first")
	pool := open(t, extern.Options{Function: "functions:Pairs", Kind: extern.Aggregate, In: intField, Gives: intField, Interpreter: python})
	err = pool.Stream(within(t, time.Minute), &extern.Call{Begin: true, Flush: true}, func([]extern.Value) error {
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
		if err := pool.Call(within(t, time.Minute), &extern.Call{Rows: rows}); err == nil || !strings.Contains(err.Error(), "takes one or more") {
			t.Errorf("%d samples: %v", rows, err)
		}
	}
}
