package compile

import (
	"context"

	"github.com/headrace/headrace/budget"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
)

// keepsOrder tells whether samples leave a stage in the order of its input, by the order
// of its own.
func keepsOrder(own string, otherwise bool) bool {
	switch own {
	case recipe.InputOrder:
		return true
	case recipe.CompletionOrder:
		return false
	}
	return otherwise
}

// linedUp has samples that passed each other wait for bytes in their new order from here
// on: the bytes that a later stage asks for go to the sample that is first now, and none
// waits for bytes of a later one.
func linedUp(in pipe.Flow[*record.Record], env *core.Env, lane *budget.Lane, name string) pipe.Flow[*record.Record] {
	next := int64(0)
	return pipe.Discard(pipe.Map(in, func(_ context.Context, it *record.Record) (*record.Record, error) {
		it.StandIn(lane, next)
		next++
		_, of := it.Lane()
		age := env.Age(of)
		it.Content, it.Working = it.Content.Move(lane, age), it.Working.Move(lane, age)
		return it, nil
	}, pipe.Opts{Name: name, Ordered: true, Buffer: 1}), env.Drop)
}
