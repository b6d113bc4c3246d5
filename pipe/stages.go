package pipe

import "github.com/headrace/headrace/pipe/internal/progress"

// stages tells what of a flow a state says something about.
func (n *node) stages() progress.Stages {
	s := progress.Stages{Sources: make(map[string]bool), Merges: make(map[string]bool), Makers: make(map[string]string),
		Judging: make(map[string]bool), Aggregates: make(map[string]bool)}
	for _, at := range n.walk() {
		s.Judging[at.key()] = at.policy != nil && at.policy.Skip
		s.Aggregates[at.key()] = at.remembers
		for _, end := range at.counts {
			s.Merges[at.key()+end] = true
		}
		switch {
		case at.kind == kindSource:
			s.Sources[at.key()] = true
		case at.makes:
			s.Makers[at.key()] = at.looseness()
		}
	}
	return s
}

// loose is the stage because of which the items of this one may be put together of other
// items in another run; nil: they are the same.
func (n *node) loose() *node {
	if n.joins {
		return n.unordered()
	}
	for _, up := range n.ups {
		if up == nil {
			continue
		}
		if up.joins {
			if bad := up.unordered(); bad != nil {
				return bad
			}
		} else if bad := up.loose(); bad != nil {
			return bad
		}
	}
	return nil
}

// unordered is a stage, this one or one before it, whose items may come in another order
// in another run; nil: there is none.
func (n *node) unordered() *node {
	if n == nil {
		return nil
	}
	if n.timed || !n.ordered && (n.several() || n.abandons) {
		return n
	}
	for _, up := range n.ups {
		if bad := up.unordered(); bad != nil {
			return bad
		}
	}
	return nil
}

// looseness says why another run may put the items of this stage together otherwise; "":
// it does not.
func (n *node) looseness() string {
	bad := n.loose()
	switch {
	case bad == nil:
		return ""
	case bad.timed:
		return "stage " + bad.label() + " makes batches by time"
	default:
		return "stage " + bad.label() + " keeps no order"
	}
}
