package record

import (
	"slices"

	"headrace/budget"
	"headrace/media"
	"headrace/sample"
)

// Record is a sample on its way to its row: what the source knows of it, and later the
// values of its fields.
type Record struct {
	Source *Source
	ID     sample.ID
	Key    string

	Values    *Values      // nil: not read, or released
	Header    media.Info   // of the image that is decoded next
	HeaderErr error        // what media.Probe said of it
	Content   budget.Grant // the bytes read
	Working   budget.Grant // what comes after

	Draws    []Draw // with a ledger
	Replaced *Lost  // the sample that this one replaces; nil: it is its own
	Drawn    uint32 // how many samples were drawn for this place
	Limited  bool   // the operation at work has a time limit

	Made   []int64 // the numbers in ID.Output
	Wanted []int64 // the output to continue as, if the sample is taken on its way by itself

	Group  int // the kind of batch that it fits into, if there are several
	Length int // of its sequences, if batches are made by length
}

// Source is what records know of their source.
type Source struct {
	Name    string
	Draws   uint64       // its number in random draws
	First   int64        // the index of its first sample among those of all sources
	Lane    *budget.Lane // where its samples wait for bytes
	Samples int64
	Key     func(index int64) string // a sample's name for people
}

// Record returns the sample at a position, not read yet.
func (s *Source) Record(epoch int, pos, index int64) *Record {
	id := sample.ID{Source: s.Name, Epoch: epoch, Pos: pos, Index: index}
	return &Record{Source: s, ID: id, Key: s.Key(index)}
}

// Number returns the sample's identity with its index among the samples of all sources.
func (r *Record) Number() sample.ID {
	id := r.ID
	id.Index += r.Source.First
	return id
}

// Again returns the same sample, not read yet.
func (r *Record) Again() *Record {
	fresh := &Record{Source: r.Source, ID: r.ID, Key: r.Key, Replaced: r.Replaced, Drawn: r.Drawn, Wanted: r.Made}
	fresh.ID.Output = ""
	return fresh
}

// SetOutput makes the record output n of another, which has the numbers of.
func (r *Record) SetOutput(of []int64, n int64) {
	r.Made = append(slices.Clip(of), n)
	r.ID.Output = sample.Numbered(r.Made...)
}

// Account reserves what the sample has in memory beyond what was foreseen. It does not
// wait: the memory is already in use.
func (r *Record) Account() {
	held, content := r.Values.Held(), r.Content.Bytes()
	if held > content+r.Working.Bytes() {
		r.Working.Resize(held - content)
	}
}

// Origin returns what a ledger notes of the sample.
func (r *Record) Origin() Origin {
	return Origin{ID: r.ID, Key: r.Key, Draws: r.Draws, Replaced: r.Replaced}
}

// Drew notes what a step drew. If the step is tried again, the last try counts.
func (r *Record) Drew(step string, values map[string]any) {
	for i := range r.Draws {
		if r.Draws[i].Step == step {
			r.Draws[i].Values = values
			return
		}
	}
	r.Draws = append(r.Draws, Draw{step, values})
}
