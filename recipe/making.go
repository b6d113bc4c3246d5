package recipe

import (
	"fmt"
	"slices"
)

// making tells which step has made batches of samples.
type making struct {
	batched int  // the step, counted from 1; 0: none, they are samples
	nothing bool // nothing comes

	// Of what comes from several chains, one that gives batches, and one that gives
	// samples; "": they all give the same.
	batches, samples string
}

func (m making) mixed() bool { return m.samples != "" }

// Plain is implemented by arguments of steps that tries put into a recipe: they give
// samples, even of batches. Plain returns false if a step never gives one.
type Plain interface{ Plain() (comes bool) }

// madeOf returns the making of several chains together.
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

// remedy tells how chains end alike if one gives samples and another batches.
func (m making) remedy() string {
	return fmt.Sprintf("end %s with unbatch, or %s with batch, too", m.batches, m.samples)
}
