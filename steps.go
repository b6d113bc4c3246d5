package headrace

import (
	"fmt"

	"github.com/headrace/headrace/internal/compile"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
)

// checkSteps refuses a mix whose weights change with the steps, if a step is not a number
// of its turns that is the same for all of them, on any number of ranks.
func checkSteps(d design) error {
	for _, m := range d.plan.Samples.Merges() {
		if m.Mix == nil || m.Mix.Schedule == nil || m.Mix.In != "steps" {
			continue
		}
		if why := unstepped(d, m); why != "" {
			return fmt.Errorf("%w: mix %q: its schedule counts steps, which are global batches, but %s: "+
				`count samples, with counted="samples" (in a recipe: in: samples)`, ErrConfig, m.Name, why)
		}
	}
	return nil
}

// unstepped returns why samples of a mix and global batches are not counted alike; "":
// they are.
func unstepped(d design, m *fuse.Merge) string {
	last := &d.plan
	if last.Single && last.Samples.Batches != nil {
		last = last.Samples.Batches // whose batches take further steps
	}
	b := last.Batch
	until, _ := m.Until.Samples()
	epoch := order.Split{Samples: until, Batch: int64(max(1, b.GlobalSize)), World: 1, DropLast: b.DropLast}
	switch most := d.config.StepsPerEpoch; {
	case last.Single:
		return "nothing makes batches"
	case last.Samples.Gathers():
		return "batches are made of what comes of other batches"
	case last.Samples.Merge != m:
		return "its samples come among those of others"
	case b.Policy() || compile.Groups(d.recipe, *last):
		return "samples are put into batches by what they are"
	case b.MaxWait > 0:
		return "with max_wait a batch may have any number of samples"
	case b.GlobalSize == 0:
		return "the batch has a size for each rank, so that more ranks have more samples in a step; give it global_size"
	case most != nil && int64(*most) != epoch.Batches():
		return fmt.Sprintf("steps_per_epoch ends epochs of %d steps after %d", epoch.Batches(), *most)
	}
	for s := range d.recipe.Counting() {
		t := recipe.TraitsOf(s.Args)
		if t.Count != recipe.Same {
			return fmt.Sprintf("%q does not make one sample of each", s.Name)
		}
	}
	return ""
}
