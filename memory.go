package headrace

import (
	"errors"
	"fmt"

	"github.com/headrace/headrace/arena"
	"github.com/headrace/headrace/budget"
	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
)

// memory is the third result of assemble: the byte budget, and in it the pool of batches.
type memory struct {
	budget *budget.Budget
	arena  *arena.Arena
	slots  *batch.Slots // of the consumer's batches
	limit  int64        // bytes that the consumer may hold
}

// allocate sets the byte budget, and in it the pool. Nothing of it is written yet, so
// that it costs address space alone.
func allocate(d design, from listing, l layouts, to *consumer) (m memory, err error) {
	limit := limitOf(d.config)
	m.limit = machine.Here().HoldLimit(d.config.LocalWorldSize)
	if d.config.HoldLimit != nil {
		m.limit = *d.config.HoldLimit
	}

	m.budget = budget.New(limit)
	if err := keepBlocks(m.budget, limit, from.sources); err != nil {
		return m, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	for _, s := range from.sources {
		s.Lane = m.budget.Lane()
	}
	from.keyed(func(_ string, s *source.Listing) { s.Lane = m.budget.Lane() })

	fits := int(halfOf(limit, d.options.trial) / arena.Stride(l.last.Bytes))
	m.arena, err = arena.New(arena.Options{
		Slots: slotsFor(*d.config.Prefetch, inHand(d, l.last.Rows), fits), SlotBytes: l.last.Bytes, Apart: l.last.Whole,
		HoldLimit: m.limit, Budget: m.budget, Announce: to.announce,
	})
	if small := (*budget.TooSmallError)(nil); errors.As(err, &small) {
		return m, fmt.Errorf("%w: memory is %d bytes, and one batch of %d rows takes %d: raise memory or use a smaller batch",
			ErrConfig, limit, l.last.Rows, small.Need)
	}
	m.slots = &batch.Slots{Layout: l.last, Arena: m.arena, Held: to.held, Notes: d.does(Replace), Ledger: d.options.Ledger}
	return m, err
}

// slotsFor returns how many slots the pool has: what is ready for the consumer, one batch
// that fills, and two that the consumer holds, for while it asks for the next it has the
// last. More that fill take only slots that fit in half of the budget, since samples need
// the rest.
func slotsFor(ready, filling, fits int) int {
	count := ready + 1 + 2
	return count + max(0, min(filling, fits-count))
}

// halfOf is half of the budget, or of the one that would be without a profile.
func halfOf(limit int64, of *trial) int64 {
	if of != nil {
		limit = of.memory
	}
	return limit / 2
}

// keepBlocks sets memory aside for blocks of compressed shards, which samples share: at
// most half of it, however many sources there are.
func keepBlocks(b *budget.Budget, limit int64, sources []*source.Listing) error {
	var all []*input.ShardSet
	for _, s := range sources {
		shards, ok := s.Contents.(*input.ShardSet)
		if !ok {
			continue
		}
		if shards.Set.HasBlocks() {
			all = append(all, shards)
		}
		shards.Room = func(bytes int64) bool {
			return bytes <= limit/4/int64(len(sources)) && b.Reserve(input.ForRows, bytes) == nil
		}
	}
	for _, shards := range all {
		n := min(limit/8, limit/2/int64(len(all)), mostKept)
		if err := b.Reserve(input.ForBlocks, n); err != nil {
			return err
		}
		shards.Set.KeepBlocks(n)
	}
	return nil
}

const mostKept = 256 << 20

// inHand returns how many batches are filled at a time besides one, since the workers of
// a function of Python have many samples in hand, or some batches.
func inHand(d design, rows int) int {
	workersOf := func(given *int) int {
		switch {
		case d.options.trial != nil:
			return d.options.trial.workers
		case given != nil:
			return *given
		}
		return shareOf(d.config)
	}
	if c := d.plan.Batch.Collate; c != nil {
		return workersOf(c.Workers)*batch.JobsPerWorker(c.Where) - 1 // each has a slot to itself
	}
	call := lastCall(d.plan)
	if call == nil || call.Kind != recipe.MapCall {
		return 0
	}
	return (workersOf(call.Workers)*python.InHand(call.Where, nil, call.Gives.Schema) - 1) / rows
}

// lastCall returns the call of the last step before batches; nil: it calls nothing.
func lastCall(p fuse.Plan) *recipe.Call {
	chain := p.Last.Chain()
	if len(chain) == 0 {
		return nil
	}
	return recipe.TraitsOf(chain[len(chain)-1].Args).Call
}
