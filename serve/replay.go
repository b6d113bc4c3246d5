package serve

import (
	"context"
	"errors"
	"fmt"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/wire"
)

// seek returns the state some batches after another. It may run until there, which a
// loader of its own does: the client hears nothing of it.
func (s *session) seek(ctx context.Context, r recipe.Recipe, c headrace.Config, python *extern.Interpreter,
	from *headrace.State, batches int64) (*headrace.State, error) {
	if batches < 0 {
		return nil, coded(wire.CodeRecipe, fmt.Errorf("headrace: batch %d to replay: they count from 0", batches))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer s.conn.WatchHangup(func() { cancel(errVanished) })()
	c.DeadLetters = "" // the run tells of what it loses itself
	l, err := headrace.Open(ctx, r, c, headrace.Options{Gate: s.engine.gate, Warn: s.note, Python: python})
	if err != nil {
		return nil, err
	}
	defer l.Close()
	if from == nil {
		from = new(l.Info().State)
	}
	at, err := l.Seek(ctx, *from, batches)
	switch {
	case errors.Is(err, pipe.ErrDone):
		return nil, coded(wire.CodeRecipe, fmt.Errorf("headrace: there is no batch %d after the state: the run ends before", batches))
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return &at, err
}

// tellRows sends the origin of each row of a batch, if the loader knows them.
func (s *session) tellRows(b *headrace.Batch, stream uint32) error {
	if b.Origins() == nil {
		return nil
	}
	rows := wire.Rows{Rows: make([]wire.Row, 0, b.Rows())}
	for i, o := range b.Origins() {
		row := wire.Row{Row: i, Source: o.ID.Source, Index: o.ID.Index, Output: o.ID.Output.Numbers(),
			Key: pathJSON(o.Key), Epoch: o.ID.Epoch, Position: o.ID.Pos, Draws: []wire.Draw{}}
		for _, d := range o.Draws {
			row.Draws = append(row.Draws, wire.Draw(d))
		}
		if l := o.Replaced; l != nil {
			row.Replaced = &wire.Replaced{Index: l.ID.Index, Output: l.ID.Output.Numbers(),
				Key: pathJSON(l.Key), Stage: l.Stage, Error: l.Err.Error()}
		}
		rows.Rows = append(rows.Rows, row)
	}
	return s.conn.SendJSON(wire.KindRows, stream, rows)
}
