package headrace

import (
	"fmt"

	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/compile"
	"github.com/headrace/headrace/internal/resume"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/pipe"
)

// prospect is the last result of assemble: the knowledge about a run before it begins.
type prospect struct {
	info   Info
	extent resume.Extent
}

// foresee counts what there is to do, for users and for states.
func foresee(d design, from listing, l layouts, program *compile.Program) (known prospect, err error) {
	known.extent = extentOf(d, from, program)
	if known.info, err = describe(d, from, l.last, program); err != nil {
		return known, err
	}
	known.info.Decoder, known.info.State = known.extent.Begin.Decoder, known.extent.Settled(State{})
	if d.config.StepsPerEpoch != nil {
		known.extent.Steps = int64(*d.config.StepsPerEpoch)
	}
	return known, nil
}

// extentOf returns the bounds of states, with the state in which everything begins.
func extentOf(d design, from listing, program *compile.Program) resume.Extent {
	begin := State{
		Version: StateVersion, Order: order.Version, Decoder: decoderOf(media.Options{Library: d.config.JPEG == TurboJPEG}),
		Recipe: d.recipe.Fingerprint(), Steps: d.recipe.Outline(),
		WorldSize: from.world, Rank: from.rank, Sources: map[string]SourceState{}, Errors: counted(program),
	}
	splits, total := map[string]order.Split{}, int64(0)
	var changed map[string]func(string) error
	for _, s := range from.begins {
		splits[s.Name] = s.Split
		if leaves := s.Leaves(); leaves[0] == s {
			total += s.Split.Samples
		} else {
			for _, leaf := range leaves {
				total += leaf.Samples
			}
		}
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

	for _, name := range program.Gathers {
		if begin.Aggregates == nil {
			begin.Aggregates = map[string]pipe.Memory{}
		}
		begin.Aggregates[name] = pipe.Memory{}
	}
	for _, m := range d.plan.Samples.Merges() {
		if m.Mix != nil { // its turns are the positions of its samples
			continue
		}
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

	items := from.items(d.plan)
	begin.InStep = inStep(d, from, program) && len(items) == 0 // which ranks count for themselves
	return resume.Extent{
		Begin: begin, Splits: splits, Total: total, Of: from.splitOf, Items: items,
		Judges: program.Judges, Makes: program.Makes, Changed: changed,
	}
}

// counted has a zero for each stage with a limit of its own; nil: there is none.
func counted(program *compile.Program) map[string]int64 {
	errors := map[string]int64{}
	for stage := range program.Judges {
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
	if i.Whole {
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
	if most := i.BatchesPerEpoch; steps > most && most >= 0 {
		return i, fmt.Errorf("%w: steps_per_epoch is %d: an epoch of %d samples has %d batches", ErrConfig, steps, i.SamplesPerEpoch, most)
	}
	i.BatchesPerEpoch, i.Exact = steps, true
	return i, nil
}

// batchesPerEpoch returns how many batches an epoch has, or the most that it may have;
// -1: there is no bound. Grouped says that samples come into them by what they are.
func batchesPerEpoch(d design, from listing, l *batch.Layout, program *compile.Program, rows int64) (n int64, grouped bool) {
	if n = (program.Samples + rows - 1) / rows; d.plan.Batch.DropsLast() {
		n = program.Samples / rows
	}
	switch {
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
