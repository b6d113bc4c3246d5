package progress

import "fmt"

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
// its outputs that are finished; or the sums that inputs of a mix have given, whose
// groups are the turns up to the last one that is finished.
type Memory struct {
	Groups int64  `json:"groups"` // of outputs that are finished in this epoch, all of them
	State  string `json:"state"`  // after the last of these
}

// A Composition says what an item was put together of: how many members it had, a hash of
// what and where each of them was, and all that it had of the sources. After a resume an
// item that has anything of it has to be the same again.
type Composition struct {
	Members int64       `json:"members"`
	Hash    string      `json:"hash"` // of the members, in order
	Items   []ItemRange `json:"items"`
}

// An ItemRange is a half-open range of positions of a source; with Item, of outputs of
// that item, which is named as in a [PartState].
type ItemRange struct {
	Source string   `json:"source"`
	Item   []int64  `json:"item,omitempty"`
	Range  [2]int64 `json:"range"`
}

// items are all that an item has of the sources, and of items that were made into
// several.
func (p PartState) items() []ItemRange {
	if p.Of != nil {
		return p.Of.Items
	}
	last := len(p.Item) - 1
	return []ItemRange{{p.Source, p.Item[:last], [2]int64{p.Item[last], p.Item[last] + 1}}}
}

func partKey(source string, item []int64) string { return fmt.Sprint(source, item) }
