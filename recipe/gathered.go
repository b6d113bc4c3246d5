package recipe

import "slices"

// Batched tells whether these steps give batches, or batches and samples.
func Batched(steps []Step) bool { return batchedAfter(steps, false) }

func batchedAfter(steps []Step, yes bool) bool {
	for _, s := range steps {
		op, _ := FindArgs(s.Args)
		chains := ChainsOf(s.Args)
		switch {
		case TraitsOf(s.Args).Count == Rows:
			yes = false
		case op.Place == Batching:
			yes = true
		case len(chains) > 0:
			yes = slices.ContainsFunc(chains, func(c Chain) bool { return batchedAfter(c, yes) })
		}
	}
	return yes
}

// Gathered tells whether batches are made in a chain of a merge or route.
func (r Recipe) Gathered() bool {
	return slices.ContainsFunc(r.Steps, func(s Step) bool { return slices.ContainsFunc(ChainsOf(s.Args), gathers) })
}

func gathers(steps Chain) bool {
	return slices.ContainsFunc(steps, func(s Step) bool {
		return TraitsOf(s.Args).Batches != nil || slices.ContainsFunc(ChainsOf(s.Args), gathers)
	})
}
