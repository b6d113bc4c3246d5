package headrace

import (
	"github.com/headrace/headrace/arena"
	"github.com/headrace/headrace/budget"
	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/compile"
	"github.com/headrace/headrace/internal/report"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/pipe"
)

// What the tests of this package see of it, which are outside so that they can share what
// tests of other packages use.

func (l *Loader) Budget() *budget.Budget      { return l.budget }
func (l *Loader) Arena() *arena.Arena         { return l.arena }
func (l *Loader) Compiled() *compile.Program  { return l.compiled }
func (l *Loader) Sources() []*source.Listing  { return l.sources }
func (l *Loader) Work() *core.Env             { return l.work }
func (l *Loader) BuryIn(d report.DeadLetters) { l.dead = d }
func (b *Batch) Inside() *batch.Batch         { return b.rows }
func (l *Loader) StallWatch() pipe.Stall      { return l.stall() }
func (g *Gate) Stages() *pipe.Gate            { return g.stages() }

// Tried are the options of a profile that tries so many workers.
func (o Options) Tried(memory int64, workers int) Options {
	o.trial = &trial{memory, workers}
	return o
}
