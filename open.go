package headrace

import (
	"context"
	"errors"
	"fmt"

	"headrace/arena"
	"headrace/budget"
	"headrace/internal/machine"
	"headrace/order"
	"headrace/recipe"
	"headrace/recipe/fuse"
	"headrace/store"
)

// Open checks everything that can be checked before a sample is read, lists the source, and returns a loader that has not begun. Errors join
// all mistakes of the recipe and the configuration.
func Open(ctx context.Context, r recipe.Recipe, c Config, o Options) (*Loader, error) {
	r = r.Complete()
	schema, err := r.Check()
	if err := errors.Join(err, c.Check()); err != nil {
		return nil, err
	}
	p, err := fuse.Fuse(r)
	if err != nil {
		return nil, err
	}
	if err := checkPrograms(r, p); err != nil {
		return nil, err
	}
	l := &Loader{config: c.withDefaults(), options: o.withDefaults(), recipe: r}
	source, classes, err := list(ctx, p)
	if err != nil {
		return nil, err
	}
	l.sources, l.info.Classes = []*listing{source}, classes
	l.batch = p.Batch
	if source.split, err = l.split(source, l.config.WorldSize, l.config.Rank); err != nil {
		return nil, err
	}
	if l.layout, err = newLayout(schema, source.split.BatchSize()); err != nil {
		return nil, err
	}
	if err := l.makeMemory(); err != nil {
		return nil, err
	}
	l.makeWork(p)
	if l.flow, err = l.compile(p); err != nil {
		return nil, err
	}
	if err := l.flow.Check(); err != nil {
		return nil, err
	}
	l.describe()
	return l, nil
}

func (o Options) withDefaults() Options {
	if o.Gate == nil {
		o.Gate = NewGate()
	}
	if o.Held == nil {
		o.Held = func(*arena.HeldError) {}
	}
	if o.Warn == nil {
		o.Warn = func(string, string) {}
	}
	return o
}

// list makes the source that the recipe begins with.
func list(ctx context.Context, p fuse.Plan) (*listing, []recipe.Path, error) {
	l := &listing{name: p.Source}
	if p.Shuffle != nil {
		l.shuffled, l.seed = true, p.ShuffleSeed
	}
	var err error
	if l.table, err = table(ctx, p.Files); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	switch {
	case p.Files.Pairs != nil:
		l.labels = make([]int64, len(p.Files.Pairs))
		for i, pair := range p.Files.Pairs {
			l.labels[i] = pair.Label
		}
	case p.Files.Label == "parent":
		var classes []recipe.Path
		l.labels, classes = labelByParent(l.table)
		return l, classes, nil
	}
	return l, nil, nil
}

func table(ctx context.Context, f recipe.Files) (*store.Table, error) {
	switch {
	case f.Pattern != "":
		return store.List(ctx, string(f.Root), string(f.Pattern), suffixes)
	case f.Pairs != nil:
		return store.Files(string(f.Root), func(yield func(string) bool) {
			for _, p := range f.Pairs {
				if !yield(string(p.Path)) {
					return
				}
			}
		})
	default:
		return store.Files(string(f.Root), func(yield func(string) bool) {
			for _, p := range f.Paths {
				if !yield(string(p)) {
					return
				}
			}
		})
	}
}

// suffixes are those of the files that a folder is listed for: of all formats that are decoded. What a file is, its content says.
var suffixes = []string{
	".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".avif", ".gif", ".bmp", ".tif", ".tiff",
}

// split is a rank's share of the epoch of a source.
func (l *Loader) split(source *listing, world, rank int) (order.Split, error) {
	global := int64(l.batch.GlobalSize)
	if global == 0 {
		global = int64(l.batch.Size) * int64(world)
	}
	s := order.Split{Samples: int64(source.table.Len()), Batch: global, World: world, Rank: rank, DropLast: l.batch.DropLast}
	if err := s.Check(); err != nil {
		return s, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return s, nil
}

// makeMemory sets the byte budget, and in it the pool: what is ready for the consumer, one batch that fills, and two that the consumer holds, for while it
// asks for the next it has the last.
func (l *Loader) makeMemory() error {
	here := machine.Here()
	limit, hold := here.Budget(l.config.LocalWorldSize), here.HoldLimit(l.config.LocalWorldSize)
	if l.config.Memory != nil {
		limit = *l.config.Memory
	}
	if l.config.HoldLimit != nil {
		hold = *l.config.HoldLimit
	}
	l.info.HoldLimit = hold
	l.budget = budget.New(limit)
	var err error
	l.arena, err = arena.New(arena.Options{
		Slots: l.config.Prefetch + 1 + 2, SlotBytes: l.layout.bytes, HoldLimit: hold, Budget: l.budget, Announce: l.options.Announce,
	})
	if small := (*budget.TooSmallError)(nil); errors.As(err, &small) {
		return fmt.Errorf("%w: memory is %d bytes, and one batch of %d rows takes %d: raise memory or use a smaller batch",
			ErrConfig, limit, l.layout.rows, small.Need)
	}
	l.slots = &slots{layout: &l.layout, arena: l.arena, held: l.held}
	return err
}

func (l *Loader) makeWork(p fuse.Plan) {
	share := min(machine.Here().Workers(l.config.LocalWorldSize), maxWorkers)
	l.info.Workers = min(share+(share+1)/2, maxWorkers) // docs/rationale.md says why there are more than cores
	if l.config.Workers != nil {
		l.info.Workers = *l.config.Workers
	}
	l.gate = l.options.Gate
	l.gate.widen(share) // more workers than cores would only make each sample later, the first ones above all
	l.work = work{
		layout: &l.layout, budget: l.budget, files: store.Local{MaxBytes: p.Files.MaxBytes}, seed: l.recipe.Seed,
		sourceID: order.SourceID(l.sources[0].name), ranks: l.config.WorldSize > 1,
	}
}

// readers is how many files are read at once. Reading waits, so it is not bound to the cores; beyond this many, disks gain nothing.
func (l *Loader) readers() int { return min(2*l.info.Workers+2, 32) }

func (l *Loader) describe() {
	l.info.Fields, l.info.Rows, l.info.SlotBytes = l.layout.fields, l.layout.rows, l.layout.bytes
	l.extent = extent{splits: map[string]order.Split{}, begin: State{
		Version: StateVersion, Order: order.Version, Decoder: Decoder(), Recipe: l.recipe.Fingerprint(),
		WorldSize: l.config.WorldSize, Rank: l.config.Rank, Sources: map[string]SourceState{},
	}}
	for _, s := range l.sources {
		l.info.Sources = append(l.info.Sources, Source{Name: s.name, Samples: s.split.Samples, SamplesPerEpoch: s.split.Len(), First: s.first})
		l.extent.splits[s.name] = s.split
		l.extent.begin.Sources[s.name] = SourceState{Samples: s.split.Samples}
		l.info.Samples += s.split.Samples
		l.info.SamplesPerEpoch += s.split.Len()
	}
	l.info.BatchesPerEpoch = l.sources[0].split.Batches()
	l.info.Exact = l.config.OnError == Raise && (!l.programs || l.config.WorldSize > 1) // programs may drop samples
	l.info.Epochs = l.config.Epochs
	l.info.Decoder = l.extent.begin.Decoder
	l.info.Pipeline = l.recipe.String()
	// Where nothing is dropped and nobody overtakes, ranks that share global batches have had the same ones.
	l.extent.begin.InStep = l.batch.GlobalSize > 0 && len(l.sources) == 1 && l.config.Order == InputOrder && l.config.OnError != Skip
	l.info.State = l.extent.settled(State{})
}

// extentOf is what records of a rank of another world are held against.
func (l *Loader) extentOf(world, rank int) (extent, error) {
	e := extent{begin: l.extent.begin, splits: map[string]order.Split{}}
	e.begin.WorldSize, e.begin.Rank = world, rank
	for _, s := range l.sources {
		var err error
		if e.splits[s.name], err = l.split(s, world, rank); err != nil {
			return extent{}, err
		}
	}
	return e, nil
}
