package recipe

import (
	"fmt"
	"slices"

	"github.com/headrace/headrace/sample"
)

// making says what has made batches of samples.
type making struct {
	batched int  // the step, counted from 1; 0: none, they are samples
	nothing bool // nothing comes

	// Of what comes from several chains, one that gives batches, and one that gives
	// samples; "": they all give the same.
	batches, samples string
}

func (m making) mixed() bool { return m.samples != "" }

// Plain is implemented by arguments of steps that tries put into a recipe: what they give
// is samples, even of batches. Where nothing ever comes of one, Plain returns false.
type Plain interface{ Plain() (comes bool) }

// madeOf returns what has made batches of what comes from any of several chains.
func madeOf(all []making, name func(i int) string) making {
	mixed := slices.IndexFunc(all, making.mixed)
	batches := slices.IndexFunc(all, func(m making) bool { return m.batched > 0 })
	samples := slices.IndexFunc(all, func(m making) bool { return m.batched == 0 && !m.nothing })
	switch {
	case mixed >= 0:
		return all[mixed]
	case batches < 0:
		return making{nothing: samples < 0}
	}
	m := all[batches]
	if samples >= 0 {
		m.batches, m.samples = name(batches), name(samples)
	}
	return m
}

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

// remedy is what to do where samples come beside batches.
func (m making) remedy() string {
	return fmt.Sprintf("end %s with unbatch, or %s with batch, too", m.batches, m.samples)
}

// mixes refuses to make batches of what is both samples and batches, and reports whether
// it is.
func (c *checker) mixes(i int, m making) bool {
	if !m.mixed() || c.steps[i].op.Place != Batching {
		return false
	}
	c.wrong(i, "", "makes batches of samples and of batches: %s gives batches, made by %q, and %s gives samples; %s",
		m.batches, c.steps[m.batched-1].Name, m.samples, m.remedy())
	return true
}
