package recipe

import (
	"fmt"

	"github.com/headrace/headrace/sample"
)

// nameOf names the chains of a step in mistakes.
func nameOf(args Args) func(i int) string {
	argument := "of"
	if TraitsOf(args).Routing != nil {
		argument = "branches"
	}
	return func(i int) string { return fmt.Sprintf("%s[%d]", argument, i) }
}

// joinBatches joins chains of which some give batches and others samples, in which there
// is a mistake. That these have other types follows from it, and is said as that.
func (c *checker) joinBatches(i int, n Nesting, in sample.Schema, outs []sample.Schema, made []making, err error) (sample.Schema, error) {
	for k := range outs {
		if made[k].batched == 0 {
			outs[k] = nil
		}
	}
	out, other := n.Join(in, outs)
	if other != nil && other.Error() == err.Error() {
		return out, err
	}
	m := madeOf(made, nameOf(n))
	c.wrong(i, m.samples, "gives samples, but %s gives batches, made by %q: %s", m.batches, c.steps[m.batched-1].Name, m.remedy())
	return out, other
}

// mixes refuses a step that would make batches of samples and of batches, and reports
// whether it would.
func (c *checker) mixes(i int, m making) bool {
	if !m.mixed() || c.steps[i].op.Place != Batching {
		return false
	}
	c.wrong(i, "", "makes batches of samples and of batches: %s gives batches, made by %q, and %s gives samples; %s",
		m.batches, c.steps[m.batched-1].Name, m.samples, m.remedy())
	return true
}
