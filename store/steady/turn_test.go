package steady_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/store/steady"
)

// TestTurn: one caller at a time has it; who waits ends with its context, and leaves it
// to the others.
func TestTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := steady.NewTurn()
		if err := turn.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for range 2 { // as it ends, and when it has
			if err := turn.Take(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		}
		turn.Give()
		if err := turn.Take(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("free, to one that has gone: %v", err)
		}
		if err := turn.Take(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
