package pipe_test

import (
	"context"
	"iter"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// each yields what a function makes of an item, and nothing fails.
func each[In, Out any](make func(In) []Out) func(context.Context, In) iter.Seq2[Out, error] {
	return func(_ context.Context, v In) iter.Seq2[Out, error] {
		return func(yield func(Out, error) bool) {
			for _, out := range make(v) {
				if !yield(out, nil) {
					return
				}
			}
		}
	}
}

func asList(list []int) []int { return list }
