package progress

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// StateVersion is what State.Version says.
const StateVersion = 1

// A State is where a run is: everything that its consumer was given, or was asked to
// be lost, and nothing else. The zero State is the beginning.
type State struct {
	Version int                    `json:"version"`
	Sources map[string]SourceState `json:"sources"`
	Merges  map[string]Progress    `json:"merges,omitempty"` // the turns of merges that go by turns
	Parts   []PartState            `json:"parts,omitempty"`  // the items of which some outputs are finished, and not all

	// Memories are those of aggregators that remember something. They belong to the items
	// that are finished.
	Memories map[string]Memory `json:"memories,omitempty"`

	Losses map[string]int64 `json:"losses,omitempty"` // of stages with a policy of their own: how many items of this epoch each has lost
}

// A SourceState is how far one source was read. All positions below Low are finished, and
// those in the half-open ranges Ahead; finished are also the positions in Lost, of which
// all or something was lost in this epoch, unless they are Open: something else that was
// made of these is not finished yet. What is finished is not tried again after a resume.
type SourceState struct {
	Epoch int        `json:"epoch"`
	Low   int64      `json:"low"`
	Ahead [][2]int64 `json:"ahead,omitempty"`
	Lost  []int64    `json:"lost,omitempty"`
	Open  []int64    `json:"open,omitempty"`
}

// Progress is what is finished of things that are numbered: all below Low, and those in
// the half-open ranges Ahead.
type Progress struct {
	Low   int64      `json:"low"`
	Ahead [][2]int64 `json:"ahead,omitempty"`
}

// A PartState says which outputs of an item are finished: those of a stage that makes
// several of one. The item has the name that it keeps in every run: the first source
// position that it was made of, followed by the numbers of the outputs that it is, of
// stages before that do the same. After a resume the item is worked on again, and the
// finished outputs are dropped.
type PartState struct {
	Stage  string  `json:"stage"`
	Source string  `json:"source"`
	Item   []int64 `json:"item"`
	Progress

	// Of says what the item was put together of, as a batch is of its members; nil: of
	// nothing else. It is compared with what comes after a resume. States of earlier
	// versions lack it, and those within such an item are refused when it comes.
	Of *Composition `json:"of,omitempty"`
}

// A Memory is what an aggregator knows besides the items that it holds, after the last of
// its outputs that are finished.
type Memory struct {
	Groups int64  `json:"groups"` // of outputs that are finished in this epoch, all of them
	State  string `json:"state"`  // after the last of these
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
			all = append(all, fmt.Errorf("the range [%d, %d) is not beyond %d: ranges must be in order and may not overlap", r[0], r[1], end))
		}
		end = max(end, r[1])
	}
	return errors.Join(all...)
}

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
	for _, name := range sortedKeys(c.Sources) {
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
			c.wrong("has some of the outputs that stage %s makes of an item, and that may be put together of others now, because %s", part.Stage, loose)
		}

		if err := part.check(); err != nil {
			c.wrong("is not valid: outputs of stage %s: %w", part.Stage, err)
		}
		key := part.Stage + partKey(part.Source, part.Item)
		switch {
		case !c.flow.Sources[part.Source] || len(part.Item) == 0 || slices.Min(part.Item) < 0 || slices.Max(part.Item) > MaxPos:
			c.wrong("has outputs of stage %s of an item %v of source %s, which cannot be", part.Stage, part.Item, part.Source)
		case NewPositionSet(c.Sources[part.Source]).Has(part.Item[0]):
			c.wrong("has outputs of stage %s of the item %v of source %s as if there were more, and the item as finished", part.Stage, part.Item, part.Source)
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
				c.wrong("has outputs of stage %s of two items that are made of the same: %v and %v of source %s", b.by.Stage, a.by.Item, b.by.Item, b.by.Source)
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
		if len(r.Item) == 0 && part.Of != nil && slices.ContainsFunc(append(whole.Ahead, [2]int64{0, whole.Low}), func(a [2]int64) bool { return a[0] < r.Range[1] && r.Range[0] < a[1] }) {
			c.wrong("has outputs of stage %s of the item %v of source %s, whose positions %v are finished", part.Stage, part.Item, part.Source, r.Range)
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

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
