package pipe_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// Statistics say for how long all else has waited for a source, and nothing while another
// stage is at work, has something ready, or the run is over.
func TestSourcesThatAreAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(ctx context.Context, v int) (int, error) {
			return v, pipetest.Sleep(ctx, 5*time.Second)
		}
		f := pipe.Map(pipe.From("arrivals", arrivals{0, 60 * time.Second}), slow, pipe.Opts{Name: "slow"})
		run := start(t, f, pipe.Config{})
		defer run.Close()
		awaited := func(after time.Duration) time.Duration {
			pipetest.Sleep(t.Context(), after)
			synctest.Wait()
			return run.Stats().Stages[0].Awaited
		}
		if got := awaited(4 * time.Second); got != 0 {
			t.Errorf("%v, and slow is at work", got)
		}
		if got := awaited(4 * time.Second); got != 0 {
			t.Errorf("%v, and an item is ready", got)
		}
		if _, err := run.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := awaited(4 * time.Second); got != 12*time.Second {
			t.Errorf("%v, and the source was asked 12 s ago", got)
		}
		run.Close()
		if got := awaited(4 * time.Second); got != 0 {
			t.Errorf("%v, and the run is over", got)
		}
	})
}
