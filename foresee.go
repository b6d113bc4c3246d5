package headrace

import (
	"errors"
	"fmt"
	"slices"

	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/compile"
	"github.com/headrace/headrace/internal/resume"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
)

// prospect is the last result of assemble: the knowledge about a run before it begins.
type prospect struct {
	info   Info
	extent resume.Extent
}

// foresee counts what there is to do, for users and for states.
func foresee(d design, from listing, l layouts, program *compile.Program) (known prospect, err error) {
	if err := from.agree(d, program); err != nil {
		return known, err
	}
	known.extent = extentOf(d, from, program)
	if known.info, err = describe(d, from, l.last, program); err != nil {
		return known, err
	}
	known.info.Decoder, known.info.State = known.extent.Begin.Decoder, known.extent.Settled(State{})
	if d.config.StepsPerEpoch != nil {
		known.extent.Steps = int64(*d.config.StepsPerEpoch) * int64(from.accumulate())
	}
	if known.info.Agree = mayDiffer(d, from, program); known.info.Agree {
		known.info.Exact = false
		if from.any() && known.info.BatchesPerEpoch > 0 {
			known.info.BatchesPerEpoch, _ = from.fewest(program)
		}
	}
	return known, nil
}

// mayDiffer reports whether ranks that agree while they run have something to agree on:
// what would be refused if they did not.
func mayDiffer(d design, from listing, program *compile.Program) bool {
	if !d.config.Agree {
		return false
	}
	d.config.Agree = false
	refused := errors.Join(d.config.Check(), d.config.terms().Check(d.recipe), d.config.terms().CheckRanks(d.recipe, d.plan),
		from.agree(d, program))
	return d.config.mustAgree() && (refused != nil || program.Drops)
}

// extentOf returns the bounds of states, with the state in which everything begins.
func extentOf(d design, from listing, program *compile.Program) resume.Extent {
	begin := State{
		Version: StateVersion, Order: order.Version, Decoder: decoderOf(media.Options{Library: d.config.JPEG == TurboJPEG}),
		Recipe: d.recipe.Fingerprint(), Steps: d.recipe.Outline(),
		WorldSize: from.world, Rank: from.rank, Part: from.partOf(), Files: program.Files,
	}
	total := int64(0)
	for _, s := range from.begins {
		if leaves := s.Leaves(); leaves[0] == s {
			total += s.Places()
		} else {
			for _, leaf := range leaves {
				total += leaf.Samples
			}
		}
	}

	judges := judgesOf(d, from, program)
	begin.Errors = counted(judges, program)
	var changed map[string]func(string) error
	from.keyed(func(key string, s *source.Listing) {
		if d, ok := s.Contents.(source.Digested); ok && d.Digest() != "" {
			if changed == nil {
				changed = map[string]func(string) error{}
			}
			changed[key] = d.Changed
		}
	})
	splits, _ := from.splits() // which there are
	items := from.items(d.plan)
	begin.Sources, begin.Merges, begin.Aggregates = places(d.plan, from, program)
	begin.InStep = inStep(d, from, program) && len(items) == 0 // which ranks count for themselves
	return resume.Extent{
		Begin: begin, Splits: splits, Total: total, Of: from.splitOf, Items: items, Judges: judges, Makes: program.Makes,
		Changed: changed, Lanes: from.lanes.Lanes, Turns: program.Turns,
	}
}

// places returns the places of sources, of merges and of steps that gather samples when a
// run begins.
func places(p fuse.Plan, from listing, program *compile.Program) (sources map[string]SourceState, merges map[string]pipe.Progress,
	aggregates map[string]pipe.Memory) {
	sources = map[string]SourceState{}
	for _, s := range from.begins {
		at := SourceState{Samples: s.Split.Samples, Of: s.Of()}
		if s.Iterated() {
			at = SourceState{Object: &ObjectState{}}
		}
		if d, ok := s.Contents.(source.Digested); ok {
			at.Shards = d.Digest()
		}
		for _, key := range from.keys(s.Name) {
			sources[key] = at
		}
	}

	if program.Turns != "" {
		merges = map[string]pipe.Progress{}
		for _, key := range from.keys(program.Turns) {
			merges[key] = pipe.Progress{}
		}
	}

	// What a merge by arrival has taken follows from its sources.
	for _, m := range p.Samples.Merges() {
		if m.Computed() { // its turns are the positions of its samples
			continue
		}
		if merges == nil {
			merges = map[string]pipe.Progress{}
		}
		for _, key := range from.keys(m.Name) {
			if m.Order != "arrival" {
				merges[key] = pipe.Progress{}
			}
			if _, ok := m.Until.Samples(); ok {
				merges[pipe.CountOf(key)] = pipe.Progress{}
			}
		}
	}

	for _, name := range program.Gathers {
		if aggregates == nil {
			aggregates = map[string]pipe.Memory{}
		}
		for _, key := range from.keys(name) {
			aggregates[key] = pipe.Memory{}
		}
	}
	return sources, merges, aggregates
}

// judgesOf returns the keys of stages whose losses the pipeline counts. The stage that
// fills batches has no lane.
func judgesOf(d design, from listing, program *compile.Program) map[string]bool {
	all := map[string]bool{}
	for stage := range program.Judges {
		if stage == d.plan.Last.Name() {
			all[stage] = true
			continue
		}
		for _, key := range from.keys(stage) {
			all[key] = true
		}
	}
	return all
}

// counted has a zero for each stage with a limit of its own; nil: there is none.
func counted(judges map[string]bool, program *compile.Program) map[string]int64 {
	errors := map[string]int64{}
	for stage := range judges {
		errors[stage] = 0
	}
	for stage := range program.Replaceable {
		errors[stage] = 0
	}
	if len(errors) == 0 {
		return nil
	}
	return errors
}

// inStep reports whether ranks have had the same global batches whenever they have had
// equally many, so that the state of one rank tells that of all.
func inStep(d design, from listing, program *compile.Program) bool {
	switch {
	case from.batch.GlobalSize == 0: // each rank makes batches of its own share
	case from.any(): // each rank has lanes of its own
	case d.config.Uneven: // some ranks have a batch more
	case d.plan.Samples.Batches != nil, program.Uneven: // batches of batches begin anywhere in the epoch
	case from.several: // shares are dealt sample by sample
	case d.config.Order != InputOrder, d.recipe.Overtakes(): // samples overtake each other
	case d.does(Skip): // what a rank leaves out moves its later samples
	case from.groups: // what comes together depends on the samples of a rank
	case from.iterated() != nil: // each rank has an object of its own
	case program.Gathers != nil: // which holds samples that others do not have
	default:
		return true
	}
	return false
}

// describe counts samples and batches. It fails if an epoch has fewer than the user has
// asked for.
func describe(d design, from listing, l *batch.Layout, program *compile.Program) (i Info, err error) {
	i.Stages, i.Epochs, i.Pipeline = stagesOf(program.Stages), d.config.Epochs, d.recipe.String()
	i.Fields, i.Rows, i.SlotBytes, i.Whole, i.Single = fieldsOf(*l), l.Rows, l.Bytes, l.Whole, l.Single
	for _, s := range d.recipe.Steps {
		if call := recipe.TraitsOf(s.Args).Call; call != nil && call.Gives != nil {
			i.Tuple = call.Gives.Tuple
		}
	}
	switch {
	case l.Lists != nil:
		i.Rows = slices.Max(l.Lists)
	case i.Whole:
		i.Rows = from.rowsOf(&d.plan)
	}
	if i.Classes = from.classes; program.Relabels {
		i.Classes = nil
	}

	for _, s := range from.sources {
		if s.Iterated() {
			i.Sources = append(i.Sources, Source{Name: s.Name, Samples: -1, SamplesPerEpoch: -1, First: s.First})
			continue
		}
		i.Sources = append(i.Sources, Source{Name: s.Name, Samples: s.Drawn(), SamplesPerEpoch: s.Expected(), First: s.First})
		i.Samples += s.Drawn()
	}

	i.Ranks, i.Accumulate = from.told(d), from.accumulate()
	i.SamplesPerEpoch = program.Samples
	i.BatchesPerEpoch, i.Grouped = batchesPerEpoch(d, from, l, program, int64(i.Rows))
	i.Exact = isExact(d, from, program)
	if from.iterated() != nil {
		i.Samples, i.SamplesPerEpoch = -1, -1
	}
	if d.config.StepsPerEpoch == nil {
		return i, nil
	}

	steps := int64(*d.config.StepsPerEpoch)
	if most := i.BatchesPerEpoch; steps*int64(i.Accumulate) > most && most >= 0 {
		each := ""
		if i.Accumulate > 1 {
			each = fmt.Sprintf(", of which a step has %d", i.Accumulate)
		}
		return i, fmt.Errorf("%w: steps_per_epoch is %d: an epoch of %d samples has %d batches%s",
			ErrConfig, steps, i.SamplesPerEpoch, most, each)
	}
	i.BatchesPerEpoch, i.Exact = steps*int64(i.Accumulate), true
	return i, nil
}

// batchesPerEpoch returns how many batches an epoch has, or the most that it may have;
// -1: there is no bound. Grouped says that samples come into them by what they are.
func batchesPerEpoch(d design, from listing, l *batch.Layout, program *compile.Program, rows int64) (n int64, grouped bool) {
	if n = (program.Samples + rows - 1) / rows; d.plan.Batch.DropsLast() {
		n = program.Samples / rows
	}
	switch {
	case from.any():
		n, grouped = program.Batches, d.plan.Batch.Policy()
	case d.plan.Samples.Batches != nil:
		n, grouped = program.Batches, compile.Groups(d.recipe, d.plan)
	case d.plan.Batch.MaxWait > 0: // one sample each, where they come slowly
		n, grouped = program.Samples, true
	case d.plan.Batch.Lists:
		n, grouped = from.begins[0].Split.Batches(), true
	case from.groups:
		n, grouped = compile.MostBatches(l, d.plan, program.Samples), true
	case !from.several && !program.Makes:
		n = from.begins[0].Split.Batches()
	}
	if unbounded(from, program) {
		n = -1
	}
	return n, grouped
}

// unbounded reports whether the number of samples is unknown.
func unbounded(from listing, program *compile.Program) bool {
	return program.Makes && !program.Counted || from.iterated() != nil
}

// isExact reports whether an epoch has as many batches as were counted, and no fewer.
func isExact(d design, from listing, program *compile.Program) bool {
	alike := d.config.WorldSize > 1 && !d.config.Uneven // such ranks may not drop samples, or steps_per_epoch counts
	stacks := d.plan.Samples.Batches == nil && !d.plan.Batch.Lists
	switch {
	case !program.Exact:
	case unbounded(from, program):
	case stacks && from.groups: // the samples of each epoch decide
	case d.plan.First().Batch.MaxWait > 0: // time does
	case d.does(Skip):
	case program.Drops && !program.Counted && !alike:
	default:
		return true
	}
	return false
}

// stagesOf returns the stages of a pipeline, for users.
func stagesOf(compiled []compile.Stage) (stages []Stage) {
	for _, s := range compiled {
		stages = append(stages, Stage(s))
	}
	return stages
}
