package record

import (
	"iter"
	"slices"

	"github.com/headrace/headrace/budget"
	"github.com/headrace/headrace/internal/byref"
	"github.com/headrace/headrace/internal/depth"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/store"
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
	Opened    Opened       // the video that is decoded next; nil: there is none
	Found     *store.File  // the object that its path names, as its source has found it; nil: it is in no store
	Content   budget.Grant // the bytes read
	Working   budget.Grant // what comes after
	Ticket    depth.Ticket // to be on its way
	Kept      byref.List   // objects of the program, besides those that the memory of its values keeps

	shared   []shared      // sizes of images that have steps in common
	agreed   []agreed      // what one of them has drawn for all
	Draws    []sample.Draw // with a ledger
	Replaced *sample.Lost  // the sample that this one replaces; nil: it is its own
	Drawn    uint32        // how many samples were drawn for this place
	Limited  bool          // the operation at work has a time limit

	Pass   int     // through its source: the epoch, or in a mix how often the source has restarted
	Turn   int64   // its place in the epoch, from 1, where samples may come twice in one; 0: they do not
	Made   []int64 // the numbers in ID.Output
	Wanted []int64 // the output to continue as, if the sample is taken on its way by itself

	Standing *Standing // of what was made of several samples in a chain, and of what that becomes; nil: it is as old as its ID says

	Members []*Record // of a batch, the sample in each row, without its values; nil: it is none, or one whose rows are no samples
	Rowless bool      // Members are those of the whole batch, and none has a row to itself
	Span    Span      // instead of Members, of a batch that was read by columns

	InList, OfList int // its place in a list that is a batch, from 0, and how many that has; 0: the sampler gives none

	EndsRound bool // it is the last of a round of lanes, and no more come into its batch

	Group  int // the kind of batch that it fits into, if there are several
	Length int // of its sequences, if batches are made by length
}

// Opened is a file that an operation has opened for another one, or a part of it that was
// read.
type Opened interface {
	// Load reads what is needed of the file, and returns how many bytes that were.
	Load() (int64, error)
	Close()
}

// Shut closes what is opened.
func (r *Record) Shut() {
	if r.Opened != nil {
		r.Opened.Close()
		r.Opened = nil
	}
}

// Source is what records know of their source.
type Source struct {
	Name    string
	Draws   uint64       // its number in random draws
	First   int64        // the index of its first sample among those of all sources
	Lane    *budget.Lane // where its samples wait for bytes
	Whole   *Source      // the source of which this is a lane's share; nil: it is no share
	Samples int64
	Key     func(index int64) string // a sample's name for people
	Path    string                   // what it is called in a mix: "web", or "code/python" in a mix in a mix

	// Among returns what may come instead of a sample of a pass: one of n. nil: any of
	// Samples.
	Among func(pass int) (n int64, at func(int64) int64)
}

// Base returns the source, or that of which it is a share.
func (s *Source) Base() *Source {
	if s.Whole != nil {
		return s.Whole
	}
	return s
}

// Record returns the sample at a position, not read yet.
func (s *Source) Record(epoch int, pos, index int64) *Record {
	id := sample.ID{Source: s.Name, Epoch: epoch, Pos: pos, Index: index}
	return &Record{Source: s, ID: id, Key: s.Key(index), Pass: epoch}
}

// Number returns the sample's identity with its index among the samples of all sources.
func (r *Record) Number() sample.ID {
	id := r.ID
	id.Index += r.Source.First
	return id
}

// Again returns the same sample, not read yet.
func (r *Record) Again() *Record {
	fresh := &Record{Source: r.Source, ID: r.ID, Key: r.Key, Replaced: r.Replaced, Drawn: r.Drawn,
		Wanted: r.Made, Pass: r.Pass, Turn: r.Turn, InList: r.InList, OfList: r.OfList, Standing: r.Standing}
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
func (r *Record) Origin() sample.Origin {
	return sample.Origin{ID: r.ID, Key: r.Key, Draws: r.Draws, Replaced: r.Replaced}
}

// shared is the size that an image has for a step.
type shared struct {
	step  uint64
	field string
	size  media.Size
}

// Shares notes the size of an image for a step that others have, too, and returns which
// image came to that step first, and its size.
func (r *Record) Shares(step uint64, field string, size media.Size) (first string, of media.Size) {
	for i := range r.shared {
		if s := &r.shared[i]; s.step == step {
			if s.field == field {
				s.size = size
			}
			return s.field, s.size
		}
	}
	r.shared = append(r.shared, shared{step, field, size})
	return field, size
}

// agreed is the part of images that was drawn for a step.
type agreed struct {
	step uint64
	part media.Rect
}

// Agree notes the part of an image that was drawn for a step which others have, too. If
// the step is tried again, the last try counts.
func (r *Record) Agree(step uint64, part media.Rect) {
	for i := range r.agreed {
		if r.agreed[i].step == step {
			r.agreed[i].part = part
			return
		}
	}
	r.agreed = append(r.agreed, agreed{step, part})
}

// Agreed returns that part, if one was drawn.
func (r *Record) Agreed(step uint64) (part media.Rect, ok bool) {
	for _, a := range r.agreed {
		if a.step == step {
			return a.part, true
		}
	}
	return part, false
}

// Drew notes what a step drew. If the step is tried again, the last try counts.
func (r *Record) Drew(step string, values map[string]any) {
	for i := range r.Draws {
		if r.Draws[i].Step == step {
			r.Draws[i].Values = values
			return
		}
	}
	r.Draws = append(r.Draws, sample.Draw{Step: step, Values: values})
}

// Samples yields the samples that a record is made of: itself, where it is no batch.
func (r *Record) Samples() iter.Seq[*Record] {
	return func(yield func(*Record) bool) { r.each(yield) }
}

func (r *Record) each(yield func(*Record) bool) bool {
	for i := range r.Span.Rows {
		if !yield(r.Span.At(i)) {
			return false
		}
	}
	if r.Members == nil {
		return r.Span.Rows > 0 || yield(r)
	}
	for _, m := range r.Members {
		if !m.each(yield) {
			return false
		}
	}
	return true
}

// Count is how many samples a record is made of.
func (r *Record) Count() int {
	if r.Span.Rows > 0 {
		return r.Span.Rows
	}
	n := 0
	for range r.Samples() {
		n++
	}
	return n
}

// Row returns a record for row i of a batch: the sample there, as it was before.
func (r *Record) Row(i int) *Record {
	if r.Rows() < 0 {
		row := &Record{Source: r.Source, ID: r.ID, Key: r.Key, Pass: r.Pass, Turn: r.Turn, Draws: slices.Clone(r.Draws),
			Standing: r.Standing}
		row.SetOutput(r.Made, int64(i))
		return row
	}
	m := r.member(i)
	return &Record{
		Source: m.Source, ID: m.ID, Key: m.Key, Pass: m.Pass, Turn: m.Turn, Made: m.Made, Draws: slices.Concat(m.Draws, r.Draws),
		Replaced: m.Replaced, Drawn: m.Drawn, Members: m.Members, Rowless: m.Rowless, Span: m.Span,
		Standing: r.Standing,
	}
}

// Rows returns the number of rows of a batch if each is a sample, and else -1.
func (r *Record) Rows() int {
	switch {
	case r.Span.Rows > 0:
		return r.Span.Rows
	case r.Members == nil, r.Rowless:
		return -1
	}
	return len(r.Members)
}

// member is the sample in row i.
func (r *Record) member(i int) *Record {
	if r.Span.Rows > 0 {
		return r.Span.At(i)
	}
	return r.Members[i]
}

// Span has samples without records: At makes one.
type Span struct {
	Rows int // 0: it is none
	At   func(i int) *Record
}

// SpanOf returns the record of a batch of these samples, as [Batch] does.
func SpanOf(s Span) *Record {
	it := s.At(0)
	it.Span = s
	return it
}

// Batch returns the record of a batch of these samples. It is called and draws as the
// first of them.
func Batch(members []*Record) *Record {
	first := members[0]
	it := &Record{Source: first.Source, ID: first.ID, Key: first.Key, Pass: first.Pass, Turn: first.Turn, Made: first.Made,
		Members: members}
	if slices.ContainsFunc(members, func(m *Record) bool { return m.Standing != nil }) {
		it.Stand(members[len(members)-1])
	}
	return it
}
