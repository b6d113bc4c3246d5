package progress

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Stages are what a state says something about, of those of a flow, by name.
type Stages struct {
	Sources    map[string]bool
	Merges     map[string]bool   // that go by turns
	Makers     map[string]string // that make several items of one; why the state may be within none, or ""
	Judging    map[string]bool   // that count their losses
	Aggregates map[string]bool
}

// CheckState tells whether a state fits a flow of these stages.
func CheckState(s State, of Stages) error {
	entries := len(s.Sources) + len(s.Merges) + len(s.Parts) + len(s.Losses) + len(s.Memories)
	if s.Version == 0 && entries == 0 {
		return nil
	}
	if s.Version != StateVersion {
		return fmt.Errorf("pipe: the state to resume from has version %d, this is version %d", s.Version, StateVersion)
	}

	c := stateCheck{State: s, flow: of}
	c.checkSources()
	c.checkMerges()
	c.checkParts()
	c.checkLosses()
	c.checkMemories()
	slices.SortFunc(c.all, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return errors.Join(c.all...)
}

// A stateCheck compares a state with the stages of a flow.
type stateCheck struct {
	State
	flow Stages
	all  []error
}

func (c *stateCheck) wrong(format string, args ...any) {
	c.all = append(c.all, fmt.Errorf("pipe: the state to resume from "+format, args...))
}

func (c *stateCheck) checkSources() {
	for name := range c.flow.Sources {
		if _, ok := c.Sources[name]; !ok {
			c.wrong("lacks the source %s", name)
		}
	}
	epoch, first := -1, ""
	for _, name := range slices.Sorted(maps.Keys(c.Sources)) {
		saved := c.Sources[name]
		if !c.flow.Sources[name] {
			c.wrong("has a source %s, which the flow lacks", name)
		}
		if err := saved.check(); err != nil {
			c.wrong("is not valid: source %s: %w", name, err)
		}
		if epoch >= 0 && saved.Epoch != epoch {
			c.wrong("has source %s in epoch %d and source %s in epoch %d", first, epoch, name, saved.Epoch)
		}
		epoch, first = saved.Epoch, name
	}
}

func (c *stateCheck) checkMerges() {
	for name := range c.flow.Merges {
		if _, ok := c.Merges[name]; !ok {
			c.wrong("lacks the turns of the merge %s", name)
		}
	}
	for name, saved := range c.Merges {
		if !c.flow.Merges[name] {
			c.wrong("has turns of a merge %s, which the flow lacks", name)
		}
		if err := saved.check(); err != nil {
			c.wrong("is not valid: merge %s: %w", name, err)
		}
	}
}

func (c *stateCheck) checkParts() {
	known, taken := make(map[string]bool), make(map[string][]claimed)
	for _, part := range c.Parts {
		if loose, ok := c.flow.Makers[part.Stage]; !ok {
			c.wrong("has outputs of a stage %s, which the flow lacks", part.Stage)
		} else if loose != "" {
			c.wrong("has some of the outputs that stage %s makes of an item, and that may "+
				"be put together of others now, because %s", part.Stage, loose)
		}

		if err := part.check(); err != nil {
			c.wrong("is not valid: outputs of stage %s: %w", part.Stage, err)
		}
		key := part.Stage + partKey(part.Source, part.Item)
		switch {
		case !c.flow.Sources[part.Source] || len(part.Item) == 0 || slices.Min(part.Item) < 0 || slices.Max(part.Item) > MaxPos:
			c.wrong("has outputs of stage %s of an item %v of source %s, which cannot be", part.Stage, part.Item, part.Source)
		case NewPositionSet(c.Sources[part.Source]).Has(part.Item[0]):
			c.wrong("has outputs of stage %s of the item %v of source %s as if there were more, and the item as finished",
				part.Stage, part.Item, part.Source)
		case known[key]:
			c.wrong("has outputs of stage %s of the item %v of source %s twice", part.Stage, part.Item, part.Source)
		default:
			c.checkItems(part, taken)
		}
		known[key] = true
	}

	// No two items may be made of the same.
	for _, all := range taken {
		slices.SortFunc(all, func(a, b claimed) int { return cmp.Compare(a.Lo, b.Lo) })
		for i := 1; i < len(all); i++ {
			if a, b := all[i-1], all[i]; b.Lo < a.Hi {
				c.wrong("has outputs of stage %s of two items that are made of the same: %v and %v of source %s",
					b.by.Stage, a.by.Item, b.by.Item, b.by.Source)
			}
		}
	}
}

// A claimed range is what an item of a state was made of.
type claimed struct {
	Range
	by PartState
}

// checkItems compares what an item was made of with what is finished, and notes it.
func (c *stateCheck) checkItems(part PartState, taken map[string][]claimed) {
	if part.Of != nil {
		if err := part.Of.check(part); err != nil {
			c.wrong("is not valid: the item %v of source %s in stage %s: %w", part.Item, part.Source, part.Stage, err)
			return
		}
	}
	for _, r := range part.items() {
		if !c.flow.Sources[r.Source] {
			c.wrong("has outputs of stage %s of an item of source %s, which the flow lacks", part.Stage, r.Source)
			continue
		}
		whole := SourceState{Low: c.Sources[r.Source].Low, Ahead: c.Sources[r.Source].Ahead}
		overlaps := func(a [2]int64) bool { return a[0] < r.Range[1] && r.Range[0] < a[1] }
		begun := len(r.Item) == 0 && part.Of != nil
		if begun && slices.ContainsFunc(append(whole.Ahead, [2]int64{0, whole.Low}), overlaps) {
			c.wrong("has outputs of stage %s of the item %v of source %s, whose positions %v are finished",
				part.Stage, part.Item, part.Source, r.Range)
		}
		key := part.Stage + partKey(r.Source, r.Item)
		taken[key] = append(taken[key], claimed{Range{r.Range[0], r.Range[1]}, part})
	}
}

func (c *stateCheck) checkLosses() {
	for name, n := range c.Losses {
		if !c.flow.Judging[name] {
			c.wrong("has losses of a stage %s, and no stage of that name counts its own", name)
		}
		if n < 0 || n > MaxPos {
			c.wrong("is not valid: %d losses of the stage %s", n, name)
		}
	}
}

func (c *stateCheck) checkMemories() {
	for name, m := range c.Memories {
		if !c.flow.Aggregates[name] {
			c.wrong("has a memory of a stage %s, and no aggregate has that name", name)
		}
		if m.Groups < 0 || m.Groups > MaxPos || m.Groups == 0 && m.State != "" {
			c.wrong("is not valid: %d groups of the stage %s", m.Groups, name)
		}
	}
}

func (s SourceState) check() error {
	var all []error
	if s.Epoch < 0 || s.Epoch > MaxPos {
		all = append(all, fmt.Errorf("epoch %d", s.Epoch))
	}
	all = append(all, Progress{s.Low, s.Ahead}.check())
	for _, pos := range s.Lost {
		if pos < 0 || pos > MaxPos {
			all = append(all, fmt.Errorf("the lost position %d", pos))
		}
	}
	for _, pos := range s.Open {
		if !slices.Contains(s.Lost, pos) {
			all = append(all, fmt.Errorf("the open position %d, which lost nothing", pos))
		} else if s.finished(pos) {
			all = append(all, fmt.Errorf("the open position %d, which is finished", pos))
		}
	}
	return errors.Join(all...)
}

// finished tells whether a position is one of Low and Ahead.
func (s SourceState) finished(pos int64) bool {
	return pos < s.Low || slices.ContainsFunc(s.Ahead, func(r [2]int64) bool { return r[0] <= pos && pos < r[1] })
}

func (p Progress) check() error {
	var all []error
	if p.Low < 0 || p.Low > MaxPos {
		all = append(all, fmt.Errorf("position %d", p.Low))
	}
	end := p.Low
	for _, r := range p.Ahead {
		switch {
		case r[0] < 0 || r[0] >= r[1] || r[1] > MaxPos:
			all = append(all, fmt.Errorf("the range [%d, %d)", r[0], r[1]))
		case r[0] < end:
			all = append(all, fmt.Errorf("the range [%d, %d) is not beyond %d: ranges must "+
				"be in order and may not overlap", r[0], r[1], end))
		}
		end = max(end, r[1])
	}
	return errors.Join(all...)
}

// check says what is wrong with the composition of an item.
func (c *Composition) check(p PartState) error {
	var all []error
	// An aggregator may make something of items that were all lost: it has no members,
	// but their ranges.
	if c.Members < 0 || c.Members > MaxPos || len(c.Hash) != 16 || len(c.Items) == 0 {
		all = append(all, fmt.Errorf("%d members, of %d ranges, with the hash %q", c.Members, len(c.Items), c.Hash))
	}
	last, mine := len(p.Item)-1, false
	for _, r := range c.Items {
		siblings := r.Source == p.Source && slices.Equal(r.Item, p.Item[:last])
		mine = mine || siblings && r.Range[0] <= p.Item[last] && p.Item[last] < r.Range[1]
		if r.Range[0] < 0 || r.Range[0] >= r.Range[1] || r.Range[1] > MaxPos {
			all = append(all, fmt.Errorf("the range [%d, %d)", r.Range[0], r.Range[1]))
		}
		if len(r.Item) > 0 && slices.Min(r.Item) < 0 {
			all = append(all, fmt.Errorf("the item %v", r.Item))
		}
	}
	if !mine {
		all = append(all, errors.New("its members differ from its name"))
	}
	return errors.Join(all...)
}
