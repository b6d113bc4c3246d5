package headrace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/headrace/headrace/arena"
	"github.com/headrace/headrace/budget"
	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/compile"
	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/internal/ops"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/internal/report"
	"github.com/headrace/headrace/internal/resume"
	"github.com/headrace/headrace/internal/scratch"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
)

// materials are what a loader is made of, besides its recipe.
type materials struct {
	config  Config
	options Options
	lists   *source.Lister // makes sources, and lists each once
	room    int            // bytes of a slot, if a function makes batches of any size
	most    int64          // samples of each source; 0: all
	probes  bool           // nothing runs but for a first sample, and the host goes on
	host    *ops.Host      // that has workers already; nil: none does
}

// assemble makes the loader of a recipe whose rows have this schema.
func assemble(ctx context.Context, r recipe.Recipe, schema sample.Schema, m materials) (_ *Loader, wrong error) {
	c, o := m.config.withDefaults(), m.options.withDefaults()
	p, err := planOf(r, c)
	if err != nil {
		return nil, err
	}

	l := &Loader{config: c, options: o, recipe: r}
	l.live.workers = map[string]int{}
	l.tracing.Elsewhere = o.Announce != nil

	// What the samples are, and which of them are this rank's.
	var classes []recipe.Path
	if l.sources, classes, err = m.lists.List(ctx, p, c.Rank, c.WorldSize); err != nil {
		return nil, err
	}
	first := p.First()
	l.groups = compile.Groups(r, *first)
	if l.batch = first.Batch; first.Batch.Policy() {
		l.batch = recipe.Batches{Size: 1}
	}
	for _, s := range l.sources {
		if s.Split, err = l.split(s, c.WorldSize, c.Rank); err != nil {
			return nil, err
		}
		s.Most = m.most
	}
	if c.Uneven && first.Batch.DropsLast() {
		return nil, fmt.Errorf("%w: uneven delivers every sample, and drop_last leaves some out: use only one of them", ErrConfig)
	}
	if err := c.terms().CheckRanks(r, p); err != nil {
		return nil, err
	}

	// What a batch looks like, and the memory for some of them.
	if l.layout, err = layoutOf(r, p, schema, l.rowsOf(&p), m.room); err != nil {
		return nil, err
	}
	if l.layout.Single && m.config.Prefetch == 0 && !recipe.Batched(r.Steps) {
		l.config.Prefetch = l.samplesAhead()
	}
	hold, err := l.makeMemory(p)
	if err != nil {
		return nil, err
	}

	// What is done to samples, and by how many at a time.
	workers := l.useCores()
	if err := l.makeWork(m); err != nil {
		return nil, err
	}
	l.probes = m.probes
	defer func() {
		if wrong != nil && m.host == nil { // else it is closed by who has made it
			l.work.Host.Close()
		}
	}()
	sections, err := l.sections(r, &p, m.room)
	if err != nil {
		return nil, err
	}
	l.compiled, err = compile.Compile(p, compile.Target{
		Env: &l.work, Sources: l.sources, Sections: sections, Lane: l.budget.Lane(), Policies: l.failing(), Gate: l.gate.stages(),
		Workers: workers, Readers: readersFor(workers), Prefetch: l.config.Prefetch, InOrder: c.Order == InputOrder, Library: c.JPEG == TurboJPEG,
		Share: func(samples int64) int64 { return l.divided(samples, c.WorldSize, c.Rank).Len() },
	})
	if err != nil {
		return nil, err
	}

	l.work.Host.Start()

	// What is known before anything runs.
	l.extent = l.extentOfRun(p)
	l.info = l.describe(p)
	l.info.Workers, l.info.HoldLimit = workers, hold
	if l.info.Classes = classes; l.compiled.Relabels {
		l.info.Classes = nil
	}
	if err := l.limitSteps(); err != nil {
		return nil, err
	}
	for _, m := range l.compiled.Mixes {
		if lost := m.Lost(l.extent.Steps * int64(l.layout.Rows)); lost != "" {
			l.options.Warn("weights", lost)
		}
	}
	l.replacements = resume.Replacements{Limit: c.MaxErrors.Limit(l.info.SamplesPerEpoch), Own: l.compiled.Replaceable}

	l.dead, err = report.OpenDeadLetters(string(c.DeadLetters), c.DeadLettersOwn, c.Rank, o.Warn)
	if err != nil {
		return nil, &Mistake{Key: "dead_letters", Err: err}
	}
	return l, nil
}

// planOf fuses the steps of a recipe, unless a configuration wants each by itself.
func planOf(r recipe.Recipe, c Config) (fuse.Plan, error) {
	plan := fuse.Fuse
	if c.Fuse != nil && !*c.Fuse {
		plan = fuse.Separate
	}
	p, err := plan(r)
	if err == nil {
		err = compile.CheckCode(r, p)
	}
	return p, err
}

// sections are what makes batches: the last one for the consumer, those before it for
// later stages, whose batches are where samples do.
func (l *Loader) sections(r recipe.Recipe, last *fuse.Plan, room int) (all []compile.Section, err error) {
	for p := last.Samples.Batches; p != nil; p = p.Samples.Batches {
		rows := l.rowsOf(p)
		layout, err := layoutOf(r, *p, p.Rows, rows, min(room, roomOfSample))
		if err != nil {
			return nil, err
		}
		slots := &batch.Slots{Layout: &layout, Lane: l.budget.Lane(), Memory: &l.work.Memory}
		all = append(all, compile.Section{Layout: &layout, Slots: slots, Rows: rows, Groups: p == last.First() && l.groups})
	}
	slices.Reverse(all)
	return append(all, compile.Section{Layout: &l.layout, Slots: l.slots, Rows: l.rowsOf(last), Groups: compile.Groups(r, *last)}), nil
}

// rowsOf is how many samples, or rows, a full batch of a plan has on this rank.
func (l *Loader) rowsOf(p *fuse.Plan) int {
	b := p.Batch
	switch {
	case b.Lists:
		return b.Size
	case p == p.First() || p.Batch.Policy():
		return l.size()
	case b.GlobalSize > 0:
		return (order.Split{Batch: int64(b.GlobalSize), World: l.config.WorldSize, Rank: l.config.Rank}).BatchSize()
	}
	return b.Size
}

// layoutOf is the form of a batch of so many rows. Room is the size of one that a
// function makes as it likes.
func layoutOf(r recipe.Recipe, p fuse.Plan, schema sample.Schema, rows, room int) (batch.Layout, error) {
	forms, err := compile.Sizes(r, p, rows)
	switch {
	case err != nil:
		return batch.Layout{}, err
	case p.Batch.Collate != nil:
		return batch.NewWhole(schema, room)
	case p.Single:
		return batch.NewSingle(schema, min(room, roomOfSample))
	}
	return batch.NewLayout(schema, forms...)
}

// roomOfSample bounds the slots of samples of any size. There are many of them, and what
// is larger takes memory of its own.
const roomOfSample = 1 << 20

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
	if o.Log == nil {
		o.Log = extern.Print(os.Stderr)
	}
	return o
}

// split is a rank's share of the epoch of a source. One source is cut into global
// batches. Several are dealt to the ranks sample by sample, so that they are equally long
// on all of them, and merges take the same turns.
func (l *Loader) split(from *source.Listing, world, rank int) (order.Split, error) {
	s := l.divided(from.Places(), world, rank)
	all := l.globalBatch(world, rank)
	all.Samples = s.Samples
	err := all.Check()
	if len(l.sources) > 1 && err == nil {
		if all.Batch%int64(world) != 0 {
			err = fmt.Errorf("a global batch of %d rows of several sources and %d ranks: must be a multiple of the number of ranks", all.Batch, world)
		}
	}
	if err != nil {
		return s, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if from.Iterated() { // each rank has one of its own
		return order.Split{Samples: source.Endless, Batch: 1, World: 1}, nil
	}
	return s, nil
}

// divided is how ranks share a number of samples.
func (l *Loader) divided(samples int64, world, rank int) order.Split {
	s := l.globalBatch(world, rank)
	if s.Samples = samples; len(l.sources) > 1 || l.groups || s.DropLast && l.multiplies() {
		s.Batch, s.DropLast = int64(world), false
	}
	return s
}

// multiplies tells whether samples of batches are others than those of the source, so
// that leaving out the last few of these says nothing about batches.
func (l *Loader) multiplies() bool {
	for _, s := range l.recipe.All() {
		switch recipe.TraitsOf(s.Args).Count {
		case recipe.More, recipe.Gathers, recipe.Times:
			return true
		}
	}
	return false
}

// globalBatch is how ranks share batches.
func (l *Loader) globalBatch(world, rank int) order.Split {
	global := int64(l.batch.GlobalSize)
	if global == 0 {
		global = int64(l.batch.Size) * int64(world)
	}
	return order.Split{Batch: global, World: world, Rank: rank, DropLast: l.batch.DropLast, Uneven: l.config.Uneven}
}

// samplesAhead is how many samples are ready for a loop that is given them one by one: as
// many as batches often have, and take no more than an eighth of the budget.
func (l *Loader) samplesAhead() int {
	return min(max(int(l.limit()/8/arena.Stride(l.layout.Bytes)), l.config.Prefetch), mostSamplesAhead)
}

const mostSamplesAhead = 64

// limit is the byte budget.
func (l *Loader) limit() int64 {
	if l.config.Memory != nil {
		return *l.config.Memory
	}
	return machine.Here().Budget(l.config.LocalWorldSize)
}

// makeMemory sets the byte budget, and in it the pool: what is ready for the consumer,
// one batch that fills, and two that the consumer holds, for while it asks for the next
// it has the last. More that fill take no more than half of the budget, which samples
// need, too. It returns how many bytes the consumer may hold.
func (l *Loader) makeMemory(p fuse.Plan) (hold int64, err error) {
	here, limit := machine.Here(), l.limit()
	if hold = here.HoldLimit(l.config.LocalWorldSize); l.config.HoldLimit != nil {
		hold = *l.config.HoldLimit
	}

	l.budget = budget.New(limit)
	if err := l.keepBlocks(limit); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	count := l.config.Prefetch + 1 + 2
	count += max(0, min(l.inHand(p), int(l.half(limit)/arena.Stride(l.layout.Bytes))-count))
	l.arena, err = arena.New(arena.Options{
		Slots: count, SlotBytes: l.layout.Bytes, Apart: l.layout.Whole, HoldLimit: hold, Budget: l.budget, Announce: l.announce,
	})
	if small := (*budget.TooSmallError)(nil); errors.As(err, &small) {
		return 0, fmt.Errorf("%w: memory is %d bytes, and one batch of %d rows takes %d: raise memory or use a smaller batch",
			ErrConfig, limit, l.layout.Rows, small.Need)
	}
	_, notes := l.failing().Does(Replace, l.recipe)
	l.slots = &batch.Slots{Layout: &l.layout, Arena: l.arena, Held: l.held, Notes: notes, Ledger: l.options.Ledger}
	return hold, err
}

// keepBlocks sets memory aside for what samples of compressed shards have in common.
func (l *Loader) keepBlocks(limit int64) error {
	for _, s := range l.sources {
		if shards, ok := s.Contents.(*source.Shards); ok && shards.Set.HasBlocks() {
			n := min(limit/8, mostKept)
			if err := l.budget.Reserve(source.ForBlocks, n); err != nil {
				return err
			}
			shards.Set.KeepBlocks(n)
		}
	}
	return nil
}

const mostKept = 256 << 20

// half is that of the budget, or of what it would be if nothing were profiled.
func (l *Loader) half(limit int64) int64 {
	if l.options.trial != nil {
		limit = l.options.trial.memory
	}
	return limit / 2
}

// useCores opens the gate for this loader's share of the cores, and returns how many
// samples it has in hand at once.
func (l *Loader) useCores() int {
	share := l.share()
	l.gate = l.options.Gate
	l.gate.Widen(share) // more workers than cores would only make each sample later, the first ones above all
	if l.config.Workers != nil {
		return *l.config.Workers
	}
	return min(share+(share+1)/2, maxWorkers) // docs/rationale.md says why there are more than cores
}

// makeWork makes what steps do their work with.
func (l *Loader) makeWork(m materials) (err error) {
	var doubted sync.Once
	l.work = ops.Env{
		Doubt: func(message string) { doubted.Do(func() { l.options.Warn("index", message) }) },
		Seed:  l.recipe.Seed,
		Ranks: l.config.mustAgree(), Ledger: l.options.Ledger, Gate: l.gate.stages(),
		Memory: record.Memory{Files: scratch.Pool{Brief: true}, Images: scratch.Pool{Brief: true}},
	}
	for _, s := range l.sources {
		s.Lane = l.budget.Lane()
	}
	for _, s := range l.recipe.All() {
		if l.work.Host == nil && ops.NeedsWorkers(s.Args) {
			if l.work.Host = m.host; m.host == nil {
				l.work.Host, err = ops.NewHost(l.options.Python, l.options.Log, l.options.Look, l.share(), false)
			}
		}
	}
	if l.work.Host != nil {
		l.work.Share(l.work.Host.Heap)
	}
	return err
}

// share is how many cores are the loader's to use.
func (l *Loader) share() int { return shareOf(l.config) }

func shareOf(c Config) int { return min(machine.Here().Workers(c.LocalWorldSize), maxWorkers) }

// readersFor is how many files are read at once. Reading waits, so it is not bound to the
// cores; beyond this many, disks gain nothing.
func readersFor(workers int) int { return min(2*workers+2, 32) }

// size is how many samples, or rows, a full batch of this rank has.
func (l *Loader) size() int { return l.globalBatch(l.config.WorldSize, l.config.Rank).BatchSize() }

// extentOfRun is what states are held against, with the state in which everything begins.
func (l *Loader) extentOfRun(p fuse.Plan) resume.Extent {
	begin := State{
		Version: StateVersion, Order: order.Version, Decoder: decoderOf(media.Options{Library: l.config.JPEG == TurboJPEG}), Recipe: l.recipe.Fingerprint(), Steps: l.recipe.Outline(),
		WorldSize: l.config.WorldSize, Rank: l.config.Rank, Sources: map[string]SourceState{}, Errors: l.counted(),
	}
	splits := map[string]order.Split{}
	var changed map[string]func(string) error
	for _, s := range l.sources {
		splits[s.Name] = s.Split
		at := SourceState{Samples: s.Split.Samples}
		if s.Iterated() {
			at = SourceState{Object: &ObjectState{}}
		}
		if d, ok := s.Contents.(source.Digested); ok && d.Digest() != "" {
			at.Shards = d.Digest()
			if changed == nil {
				changed = map[string]func(string) error{}
			}
			changed[s.Name] = d.Changed
		}
		begin.Sources[s.Name] = at
	}

	for _, name := range l.compiled.Gathers {
		if begin.Aggregates == nil {
			begin.Aggregates = map[string]pipe.Memory{}
		}
		begin.Aggregates[name] = pipe.Memory{}
	}
	for _, m := range p.Samples.Merges() {
		if m.Order != "arrival" {
			if begin.Merges == nil {
				begin.Merges = map[string]pipe.Progress{}
			}
			begin.Merges[m.Name] = pipe.Progress{}
		}
		if _, ok := m.Until.Samples(); ok {
			begin.Merges[pipe.CountOf(m.Name)] = pipe.Progress{}
		}
	}

	items := l.items(p)
	begin.InStep = l.inStep(p) && len(items) == 0 // which ranks count for themselves
	return resume.Extent{Begin: begin, Splits: splits, Of: l.splitOf, Items: items, Judges: l.compiled.Judges, Makes: l.compiled.Makes, Changed: changed}
}

// inStep reports whether ranks have had the same global batches whenever they have had
// equally many, so that the state of one rank tells that of all.
func (l *Loader) inStep(p fuse.Plan) bool {
	_, skips := l.failing().Does(Skip, l.recipe)
	switch {
	case l.batch.GlobalSize == 0: // each rank makes batches of its own share
	case l.config.Uneven: // some ranks have a batch more
	case p.Samples.Batches != nil: // batches of batches begin anywhere in the epoch
	case len(l.sources) != 1: // shares are dealt sample by sample
	case l.config.Order != InputOrder: // samples overtake each other
	case skips: // what a rank leaves out moves its later samples
	case l.groups: // what comes together depends on the samples of a rank
	case l.iterated() != nil: // each rank has an object of its own
	case l.compiled.Gathers != nil: // which holds samples that others do not have
	default:
		return true
	}
	return false
}

// splitOf is the split of an epoch of a source.
func (l *Loader) splitOf(name string, epoch int, s order.Split) order.Split {
	return l.source(name).SplitOf(s, epoch)
}

// items is how ranks share the samples of merges that end after a number of them.
func (l *Loader) items(p fuse.Plan) map[string]order.Split {
	all := map[string]order.Split{}
	for _, m := range p.Samples.Merges() {
		if n, ok := m.Until.Samples(); ok {
			all[m.Name] = l.divided(n, l.config.WorldSize, l.config.Rank)
		}
	}
	return all
}

// stagesOf are the stages of a pipeline, for users.
func stagesOf(compiled []compile.Stage) (stages []Stage) {
	for _, s := range compiled {
		stages = append(stages, Stage(s))
	}
	return stages
}

// describe tells what there is to do.
func (l *Loader) describe(p fuse.Plan) (i Info) {
	i.Stages, i.Epochs, i.Decoder, i.Pipeline = stagesOf(l.compiled.Stages), l.config.Epochs, l.extent.Begin.Decoder, l.recipe.String()
	i.Fields, i.Rows, i.SlotBytes, i.Whole = fieldsOf(l.layout), l.layout.Rows, l.layout.Bytes, l.layout.Whole
	if i.Single = l.layout.Single; i.Whole {
		i.Rows = l.rowsOf(&p)
	}
	i.State = l.extent.Settled(State{})

	for _, s := range l.sources {
		if s.Iterated() {
			i.Sources = append(i.Sources, Source{Name: s.Name, Samples: -1, SamplesPerEpoch: -1, First: s.First})
			continue
		}
		i.Sources = append(i.Sources, Source{Name: s.Name, Samples: s.Drawn(), SamplesPerEpoch: s.Expected(), First: s.First})
		i.Samples += s.Drawn()
	}

	i.SamplesPerEpoch, i.Exact = l.compiled.Samples, l.compiled.Exact
	rows := int64(i.Rows)
	if i.BatchesPerEpoch = (i.SamplesPerEpoch + rows - 1) / rows; p.Batch.DropsLast() {
		i.BatchesPerEpoch = i.SamplesPerEpoch / rows
	}
	switch {
	case p.Samples.Batches != nil:
		i.BatchesPerEpoch, i.Grouped = l.compiled.Batches, compile.Groups(l.recipe, p)
	case p.Batch.Lists:
		i.BatchesPerEpoch, i.Grouped = l.sources[0].Split.Batches(), true
	case l.groups:
		i.BatchesPerEpoch, i.Exact, i.Grouped = compile.MostBatches(&l.layout, p, i.SamplesPerEpoch), false, true
	case len(l.sources) == 1 && !l.compiled.Makes:
		i.BatchesPerEpoch = l.sources[0].Split.Batches()
	}
	if l.compiled.Makes && !l.compiled.Counted {
		i.BatchesPerEpoch, i.Exact = -1, false
	}
	if l.iterated() != nil {
		i.Samples, i.SamplesPerEpoch, i.BatchesPerEpoch, i.Exact = -1, -1, -1, false
	}

	_, skips := l.failing().Does(Skip, l.recipe)
	i.Exact = i.Exact && !skips && (!l.compiled.Drops || l.compiled.Counted || l.config.WorldSize > 1 && !l.config.Uneven)
	return i
}

// counted has a zero for each stage with a limit of its own; nil: there is none.
func (l *Loader) counted() map[string]int64 {
	errors := map[string]int64{}
	for stage := range l.compiled.Judges {
		errors[stage] = 0
	}
	for stage := range l.compiled.Replaceable {
		errors[stage] = 0
	}
	if len(errors) == 0 {
		return nil
	}
	return errors
}

// extentOf is what records of a rank of another world are held against.
func (l *Loader) extentOf(world, rank int) (resume.Extent, error) {
	e := resume.Extent{Begin: l.extent.Begin, Splits: map[string]order.Split{}, Of: l.splitOf, Items: map[string]order.Split{}, Judges: l.extent.Judges, Makes: l.compiled.Makes, Steps: l.extent.Steps}
	e.Begin.WorldSize, e.Begin.Rank = world, rank
	for _, s := range l.sources {
		var err error
		if e.Splits[s.Name], err = l.split(s, world, rank); err != nil {
			return resume.Extent{}, err
		}
	}
	for name, own := range l.extent.Items {
		e.Items[name] = l.divided(own.Samples, world, rank)
	}
	return e, nil
}

func (l *Loader) failing() ops.Policies {
	return ops.Policies{OnError: l.config.OnError, MaxErrors: l.config.MaxErrors, Sources: len(l.sources)}
}

// iterated is a source of the loader of which nobody knows how many samples it has; nil:
// there is none.
func (l *Loader) iterated() *source.Listing {
	for _, s := range l.sources {
		if s.Iterated() {
			return s
		}
	}
	return nil
}

// announce tells of the memory of batches: a consumer in another process, and workers
// that write into it. These learn of the pool alone. A segment of one batch comes and
// goes while a consumer holds many, and each worker would have to map it; what is there
// is copied.
func (l *Loader) announce(s arena.Segment) error {
	if l.options.Announce != nil {
		if err := l.options.Announce(s); err != nil {
			return err
		}
	}
	if l.compiled.Writers == nil || !s.Pooled {
		return nil
	}
	return l.compiled.Writers.Segment(s.FD, s.ID, s.Memory)
}

// inHand is how many batches are filled at a time besides one, since the workers of a
// function of Python have many samples in hand, or some batches.
func (l *Loader) inHand(p fuse.Plan) int {
	said := func(workers *int) int {
		switch {
		case l.options.trial != nil:
			return l.options.trial.workers
		case workers != nil:
			return *workers
		}
		return l.share()
	}
	if c := p.Batch.Collate; c != nil {
		return said(c.Workers)*batch.JobsPerWorker - 1 // each has a slot to itself
	}
	chain := p.Last.Chain()
	if len(chain) == 0 {
		return 0
	}
	call := recipe.TraitsOf(chain[len(chain)-1].Args).Call
	if call == nil || call.Kind != recipe.MapCall {
		return 0
	}
	return (said(call.Workers)*ops.PerWorkerFor(nil, call.Gives.Schema) - 1) / l.layout.Rows
}
