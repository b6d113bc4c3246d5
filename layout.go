package headrace

import (
	"github.com/headrace/headrace/arena"
	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/compile"
	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
)

// layouts is the second result of assemble: the forms of batches, and how many are ready.
type layouts struct {
	last     *batch.Layout   // of the consumer's batches
	earlier  []*batch.Layout // of batches that later stages take apart, in the order of the plans before the last
	prefetch int
}

// layOut gives batches their forms. Room is the size of one that a function makes as it
// likes.
func layOut(d design, from listing, room int) (l layouts, err error) {
	layout, err := layoutOf(d.recipe, d.plan, d.schema, from.rowsOf(&d.plan), room)
	if err != nil {
		return l, err
	}
	l.last, l.prefetch = &layout, *d.config.Prefetch
	if layout.Single && !d.counts && !recipe.Batched(d.recipe.Steps) {
		l.prefetch = samplesAhead(limitOf(d.config), layout.Bytes, *d.config.Prefetch)
	}
	for p := d.plan.Samples.Batches; p != nil; p = p.Samples.Batches {
		layout, err := layoutOf(d.recipe, *p, p.Rows, from.rowsOf(p), min(room, roomOfSample))
		if err != nil {
			return l, err
		}
		l.earlier = append(l.earlier, &layout)
	}
	return l, nil
}

// layoutOf returns the form of a batch of so many rows.
func layoutOf(r recipe.Recipe, p fuse.Plan, schema sample.Schema, rows, room int) (batch.Layout, error) {
	forms, err := compile.Sizes(r, p, rows)
	switch {
	case err != nil:
		return batch.Layout{}, err
	case p.Batch.Collate != nil:
		return batch.NewWhole(schema, room, forms...)
	case p.Single:
		return batch.NewSingle(schema, min(room, roomOfSample))
	}
	return batch.NewRagged(schema, p.Batch.Ragged, forms...)
}

// roomOfSample bounds the slots of samples of any size. There are many of them, and
// larger samples take memory of their own.
const roomOfSample = 1 << 20

// samplesAhead returns how many samples are ready for a loop that is given them one by
// one: as many as batches often have, in no more than an eighth of the budget.
func samplesAhead(budget int64, bytes, least int) int {
	return min(max(int(budget/8/arena.Stride(bytes)), least), mostSamplesAhead)
}

const mostSamplesAhead = 64

// limitOf returns the byte budget.
func limitOf(c Config) int64 {
	if c.Memory != nil {
		return *c.Memory
	}
	return machine.Here().Budget(c.LocalWorldSize)
}
