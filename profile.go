package headrace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/internal/bytesize"
	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
)

// ProfileOptions say how a recipe is measured. The zero value is of use.
type ProfileOptions struct {
	Items    int                        // samples for each number of workers; 0: 256, or as many as the byte budget has room for
	Workers  []int                      // how many workers a stage is tried with; nil: 1, 2, 4 … up to all cores, and half as many more
	Epoch    int                        // of which the samples are
	Progress func(pipe.ProfileProgress) // called before each trial; nil: nobody is told
	Python   *extern.Interpreter        // as in Options
}

// Profile lets each stage of a recipe work alone, as fast as it can, on what the stages
// before have made, with each number of workers in turn. So it tells of every stage how
// many samples a second it is enough for, which a whole run tells only of the slowest.
// Every sample is worked on once by every stage; epochs that are too short give what they
// have. Nothing else should run meanwhile.
//
// What stages have made is kept in memory until the next one has worked on it: within the
// byte budget of the configuration. Where that has no room for the samples that are asked
// for, or for eight, the error is an [ErrConfig].
func Profile(ctx context.Context, r recipe.Recipe, c Config, o ProfileOptions) (pipe.Report, error) {
	if o.Items < 0 {
		return pipe.Report{}, fmt.Errorf("%w: items is %d: must be at least 1", ErrConfig, o.Items)
	}
	if o.Epoch < 0 {
		return pipe.Report{}, fmt.Errorf("%w: epoch is %d: epochs count from 0", ErrConfig, o.Epoch)
	}

	if o.Workers == nil {
		o.Workers = usualTrials(machine.Here().Workers(c.LocalWorldSize))
	}
	for _, n := range o.Workers {
		if n < 1 || n > maxWorkers {
			return pipe.Report{}, fmt.Errorf("%w: workers has %d: must be from 1 to %d", ErrConfig, n, maxWorkers)
		}
	}
	if len(o.Workers) != len(slices.Compact(slices.Sorted(slices.Values(o.Workers)))) {
		return pipe.Report{}, fmt.Errorf("%w: the numbers of workers %v have one twice", ErrConfig, o.Workers)
	}

	limit := limitOf(c)
	c.Memory = new(int64(1) << 60) // a stage that works alone must not wait for bytes that the next one would free

	l, err := Open(ctx, r, c, Options{Python: o.Python, trial: &trial{limit, slices.Max(o.Workers)}})
	if err != nil {
		return pipe.Report{}, err
	}
	defer l.Close()
	return l.profile(ctx, limit, o)
}

const (
	profileItems = 256
	probeItems   = 8 // that tell what a sample takes
)

func (l *Loader) profile(ctx context.Context, limit int64, o ProfileOptions) (pipe.Report, error) {
	l.work.Begin(0, nil, nil)
	python.HostOf(l.work).Await()
	opts := pipe.ProfileOpts{Items: probeItems, Workers: []int{1}, Epoch: o.Epoch,
		Failures: core.RunPolicy(l.config.OnError, l.config.MaxErrors, l.info.SamplesPerEpoch)}
	empty := l.budget.Stats().Used // but for the batches
	if _, err := pipe.Profile(ctx, l.compiled.Flow, opts); err != nil {
		return pipe.Report{}, err
	}
	each := max(1, (l.budget.Stats().Peak-empty)/probeItems)
	fits := (limit - empty) / each / int64(len(o.Workers))
	wanted := int64(cmp.Or(o.Items, probeItems))
	if fits < wanted {
		return pipe.Report{}, fmt.Errorf("%w: memory is %s, which has room for %d samples "+
			"of %s for each number of workers, not for %d: raise memory, or profile fewer",
			ErrConfig, bytesize.Text(limit), max(0, fits), bytesize.Text(each), wanted)
	}
	if o.Items == 0 {
		o.Items = int(min(fits, profileItems))
	}
	opts.Items, opts.Workers, opts.Progress = o.Items, o.Workers, o.Progress
	report, err := pipe.Profile(ctx, l.compiled.Flow, opts)
	if err == nil && report.Items == 0 {
		err = errors.New("headrace: there is nothing to profile: the epoch has no samples")
	}
	return report, err
}

// usualTrials are powers of two up to all cores, and half as many more, which is what a
// loader has.
func usualTrials(cores int) (all []int) {
	for n := 1; n < cores; n *= 2 {
		all = append(all, n)
	}
	all = append(all, cores)
	if more := min(cores+(cores+1)/2, maxWorkers); more > cores {
		all = append(all, more)
	}
	return all
}
