package headrace

import "fmt"

// checkParts refuses to run a part of a recipe whose parts have no known beginning, or
// would lose samples that the whole has.
func (l listing) checkParts() error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%w: a part of a run: %s", ErrConfig, fmt.Sprintf(format, args...))
	}
	if from := l.iterated(); from != nil {
		return refuse("the source %q does not say how many samples it has; give it a length, or run it whole", from.Name)
	}
	switch {
	case len(l.begins) > 1:
		return refuse("the recipe merges %d sources by turns, and where a part of the turns begins is known "+
			"when those before have run; write each source by a run of its own", len(l.begins))
	case l.any():
		return refuse("the recipe has lanes, which go through a whole epoch; leave out lanes and global_size")
	case l.batch.DropLast:
		return refuse("drop_last would drop samples at the end of each part; leave it out")
	case l.begins[0].Sampled():
		return refuse("the sampler of %q says only as it runs how many samples an epoch has; leave it out", l.begins[0].Name)
	}
	return nil
}

// partOf is how states name a part; "": they are of all.
func (d division) partOf() string {
	if d.parts <= 1 {
		return ""
	}
	return fmt.Sprintf("%d/%d", d.part, d.parts)
}
