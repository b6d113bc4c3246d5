package compile

import (
	"context"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
)

// keepsOrder tells whether samples leave a stage in the order of its input.
func (j joiner) keepsOrder(s *stage, later bool) bool {
	switch s.order {
	case recipe.InputOrder:
		return true
	case recipe.CompletionOrder:
		return false
	}
	return j.inOrder(later)
}

// lineUp has samples that passed each other in a stage wait for bytes in their new order
// from there on: those that a later stage asks for go to whoever is first now, and nobody
// waits for bytes of one that comes after it.
func (j joiner) lineUp(in samples, s *stage, later bool) samples {
	if s.order != recipe.CompletionOrder || !later {
		return in
	}
	name := "line up " + s.name
	j.note(name, 1, nil)
	lane, next := j.Lane.Another(), int64(0)
	in.Flow = pipe.Discard(pipe.Map(in.Flow, func(_ context.Context, it *record.Record) (*record.Record, error) {
		it.StandIn(lane, next)
		next++
		_, of := it.Lane()
		age := j.Env.Age(of)
		it.Content, it.Working = it.Content.Move(lane, age), it.Working.Move(lane, age)
		return it, nil
	}, pipe.Opts{Name: name, Ordered: true, Buffer: 1}), j.Env.Drop)
	return in
}
