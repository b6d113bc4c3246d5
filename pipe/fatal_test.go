package pipe_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// An error that is fatal ends the run, whatever the policy, and can be known from others.
func TestFatalErrorsEndTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 9}), func(_ context.Context, v int) (int, error) {
			if v == 4 {
				return 0, pipe.Fatal(errBad)
			}
			return v, nil
		}, pipe.Opts{Name: "map"})
		run := start(t, f, pipe.Config{Failures: pipe.Policy{Skip: true, Count: 100}})
		defer run.Close()
		got, err := drain(run)
		if !errors.Is(err, errBad) || !pipe.Stops(err) || fmt.Sprint(got) != "[0 1 2 3]" {
			t.Errorf("%v, then %v", got, err)
		}
	})
	if pipe.Stops(errBad) {
		t.Error("every error stops")
	}
}
