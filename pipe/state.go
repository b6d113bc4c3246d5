package pipe

import "github.com/headrace/headrace/pipe/internal/progress"

// StateVersion is what State.Version says.
const StateVersion = progress.StateVersion

// A State is where a run is: everything that its consumer was given, or was asked to
// be lost, and nothing else. The zero State is the beginning. It is JSON, and its fields
// are for people:
//
//	Version  int                    // StateVersion
//	Sources  map[string]SourceState // how far each was read
//	Merges   map[string]Progress    // the turns of merges that go by turns
//	Parts    []PartState            // the items of which some outputs are finished, and not all
//	Memories map[string]Memory      // those of aggregators that remember something
//	Losses   map[string]int64       // of stages with a policy of their own, in this epoch
type State = progress.State

// A SourceState is how far one source was read. All positions below Low are finished, and
// those in the half-open ranges Ahead; finished are also the positions in Lost, of which
// all or something was lost in this epoch, unless they are Open: something else that was
// made of these is not finished yet. What is finished is not tried again after a resume.
type SourceState = progress.SourceState

// Progress is what is finished of things that are numbered: all below Low, and those in
// the half-open ranges Ahead.
type Progress = progress.Progress

// A PartState says which outputs of an item are finished: those of a stage that makes
// several of one. The item has the name that it keeps in every run: Item is the first
// position of Source that it was made of, followed by the numbers of the outputs that it
// is, of stages before that do the same. After a resume the item is worked on again, and
// the finished outputs are dropped.
type PartState = progress.PartState

// A Composition says what an item of a [PartState] was put together of: the number of its
// Members, a Hash of what and where each of them was, and Items, all that it had of the
// sources. After a resume an item that has anything of it has to be the same again.
type Composition = progress.Composition

// An ItemRange is a half-open Range of positions of a Source; with Item, of outputs of
// that item, which is named as in a [PartState].
type ItemRange = progress.ItemRange

// A Memory is what an aggregator knows besides the items that it holds, as
// [Outputs.Close] was reported, when the last of its outputs is finished: Groups are the
// outputs that are finished in this epoch, and State is what it knew after the last of
// these.
type Memory = progress.Memory
