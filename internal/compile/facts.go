package compile

import (
	"maps"
	"slices"

	"headrace/internal/ops"
)

// facts are what a stage means for a whole program. Those of the program are the sum of
// all its stages'.
type facts struct {
	drops     bool // some samples may be left out on purpose
	makes     bool // some may be made into several
	uncounted bool // nobody knows before how many are left out, or made
	uneven    bool // batches are made of batches, or taken apart
	programs  bool // it runs code of the program that opened the recipe, which may drop samples
	relabels  bool // labels are others than those of the sources

	gathers []string // stages that make samples of several

	// By stage, what it does about bad samples.
	skips  map[string]bool
	spends map[string]int  // how many it may replace, if it has a limit of its own
	judges map[string]bool // it skips, and has a limit of its own
}

// handles are the facts of what a stage does about bad samples.
func handles(stage string, h ops.Handling) facts {
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

// and is the sum of facts, those of later stages last.
func (f facts) and(g facts) facts {
	f.drops = f.drops || g.drops
	f.makes = f.makes || g.makes
	f.uncounted = f.uncounted || g.uncounted
	f.uneven = f.uneven || g.uneven
	f.programs = f.programs || g.programs
	f.relabels = f.relabels || g.relabels
	f.gathers = slices.Concat(f.gathers, g.gathers)
	f.skips = joined(f.skips, g.skips)
	f.spends = joined(f.spends, g.spends)
	f.judges = joined(f.judges, g.judges)
	return f
}

// joined is a map of what is in either. A program has one even if nothing is.
func joined[V any](a, b map[string]V) map[string]V {
	all := map[string]V{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	return all
}

// facts are those of all stages up to the batches of a section.
func (s *section) facts() facts { return s.line.facts().and(s.known) }

func (n *line) facts() (f facts) {
	if n.batches != nil {
		f = n.batches.facts()
	}
	for _, of := range n.of {
		f = f.and(of.facts())
	}
	for _, s := range n.steps {
		if s.stage != nil {
			f = f.and(s.stage.known)
			continue
		}
		f = f.and(s.routing.known)
		for _, branch := range s.routing.branches {
			f = f.and(branch.facts())
		}
	}
	return f
}
