package compile

import (
	"cmp"
	"maps"

	"github.com/headrace/headrace/op/core"
)

// facts tell how a stage affects the whole program. Those of the program are the sum of
// its stages'.
type facts struct {
	drops     bool // some samples may be left out on purpose
	makes     bool // some may be made into several
	uncounted bool // nobody knows before how many are left out, or made
	uneven    bool // batches are made of batches, or taken apart
	programs  bool // it runs code of the program that opened the recipe, which may drop samples
	relabels  bool // labels are others than those of the sources

	gathers []string // stages that make samples of several
	cuts    string   // a pack that makes several samples of one, part of which it holds; "": there is none

	// By stage, what it does about bad samples.
	skips  map[string]bool
	spends map[string]int  // how many it may replace, if it has a limit of its own
	judges map[string]bool // it skips, and has a limit of its own
}

// handles returns the facts that follow from a stage's policy for bad samples.
func handles(stage string, h core.Handling) facts {
	f := facts{skips: map[string]bool{stage: h.Skips}}
	switch {
	case h.Policy == nil:
	case h.Replaces:
		f.spends = map[string]int{stage: h.Most}
	case h.Policy.Skip:
		f.judges = map[string]bool{stage: true}
	}
	return f
}

// with returns the facts of a stage together with others of its own.
func (f facts) with(g facts) facts {
	f.add(g)
	return f
}

// add sums facts up, those of later stages last.
func (f *facts) add(g facts) {
	f.drops = f.drops || g.drops
	f.makes = f.makes || g.makes
	f.uncounted = f.uncounted || g.uncounted
	f.uneven = f.uneven || g.uneven
	f.programs = f.programs || g.programs
	f.relabels = f.relabels || g.relabels
	f.gathers = append(f.gathers, g.gathers...)
	f.cuts = cmp.Or(f.cuts, g.cuts)
	join(&f.skips, g.skips)
	join(&f.spends, g.spends)
	join(&f.judges, g.judges)
}

// join adds the entries of b to a, which it makes if it is nil.
func join[V any](a *map[string]V, b map[string]V) {
	if *a == nil {
		*a = map[string]V{}
	}
	maps.Copy(*a, b)
}
