package image

import (
	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/op/core"
)

// eachGroup calls a function for so many rows of a batch after each other, with the draws
// of the operation for them. Without a size all rows are one group.
func eachGroup(env *core.Env, it *record.Record, t *core.Tool, id uint64, size *int, rows int,
	do func(from, until int, draws *media.Sequence)) {
	group := argument.OrElse(size, max(rows, 1))
	for from := 0; from < rows; from += group {
		chance := t.Chance
		if from > 0 {
			chance = env.RandomKey(it.Row(from))
		}
		do(from, min(from+group, rows), &media.Sequence{Rand: chance, ID: id})
	}
}

// tellRow notes the draws of a step for a row of a batch.
func tellRow(it *record.Record, step string, row int, told map[string]any) {
	if row < len(it.Members) {
		it.Members[row].Drew(step, told)
	} else {
		it.Drew(step, told) // the last row's: rows are no samples
	}
}
