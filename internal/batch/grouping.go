package batch

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"sync/atomic"

	"github.com/headrace/headrace/budget"
	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/image"
	"github.com/headrace/headrace/pipe"
)

// Grouping puts samples into batches by the shape of their image, or by the length of
// their sequences.
//
// A stage measures each sample before it waits for others; errors and losses happen
// there. A waiting sample does not hold its bytes. The memory to decode it is reserved
// once its batch is on its way, in a lane of the budget that follows the order of the
// samples.
type Grouping struct {
	Env     *core.Env
	Layout  *Layout
	Images  *image.Steps  // whose plan tells the shape; nil: the image is stored
	Picture record.Column // nowhere: lengths count, or Class

	Class func(context.Context, *record.Record) (int, error) // nil: one of the others counts

	Image     int // the field of the image
	Sequences []Sequence
	Equal     bool  // the sequences of a sample are equally long
	Limit     int   // of a length
	By        int   // the sequence that chooses the bucket; -1: the longest does
	Limits    []int // of each sequence, which have lengths of their own; nil: Limit
	Overlong  group.Overlong
	Open      bool    // with By: batches differ in its length
	Cut       *Cutter // nil: no sample is cut

	Domain func(*record.Record) string // of which rows have one; nil: of any

	Scope  *core.MemoryScope // nil: nothing is decoded after it
	Lane   *budget.Lane
	served atomic.Uint64
}

// A Sequence is a field that is as long as its sample says.
type Sequence struct {
	Name  string
	Place record.Column
}

// Measure determines the group of a sample.
func (g *Grouping) Measure(ctx context.Context, it *record.Record) (err error) {
	switch {
	case g.Class != nil:
		it.Group, err = g.Class(ctx, it)
	case g.Picture.Kind == record.Images:
		it.Group, err = g.groupOf(it)
	default:
		it.Length, err = g.lengthOf(it.Values)
	}
	if err == nil {
		it.Content.Park()
		it.Working.Park()
		it.Ticket.Leave() // it may wait for many others
	}
	return err
}

// groupOf says which form of batch the sample's image fits into. It follows from the
// header of a file, and from the sample's random draws.
func (g *Grouping) groupOf(it *record.Record) (int, error) {
	shape := it.Values.Images[g.Picture.At].Form().Shape()
	if g.Images != nil {
		if g.Images.Decodes() {
			it.Header, it.HeaderErr = media.Probe(it.Values.Bytes[g.Images.From.At])
		}
		t := g.Env.Tool(it)
		defer g.Env.Done(t)
		if err := g.Images.Plan(it, t, g.Images.FormOf(it), false); err != nil {
			return 0, err
		}
		shape = t.Plan.Form().Shape()
	}
	forms := g.Layout.Forms
	for i := range forms {
		if forms[i].shapes[g.Image].Equal(shape) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("headrace: the image comes out as %v, which no batch can hold", shape)
}

// lengthOf returns the length of the longest sequence, or of the first if each has rows
// of its own.
func (g *Grouping) lengthOf(v *record.Values) (int, error) {
	if g.Limits != nil {
		return g.firstOf(v)
	}
	if g.By >= 0 {
		return g.chosenOf(v)
	}
	longest, at := 0, 0
	for i, one := range g.Sequences {
		n := v.Arrays[one.Place.At].Shape[0]
		if g.Equal && i > 0 && n != longest {
			return 0, fmt.Errorf("headrace: the fields %q and %q have %d and %d elements: pack needs sequences that are equally long;"+
				" bucket_batch pads each, and length={%[1]q: …, %[2]q: …} gives each rows of its own",
				g.Sequences[0].Name, one.Name, longest, n)
		}
		if n > longest {
			longest, at = n, i
		}
	}
	if g.Equal && longest == 0 {
		return 0, fmt.Errorf("headrace: the field %q is empty: there is nothing to pack; "+
			"leave such samples out, with filter or on_error=\"skip\"",
			g.Sequences[0].Name)
	}

	return g.fit(at, longest, g.Limit)
}

// firstOf returns the length of the first sequence, if all fit into rows of their own.
func (g *Grouping) firstOf(v *record.Values) (first int, err error) {
	some := 0
	for i := range g.Sequences {
		n, err := g.fit(i, g.Length(v, i), g.Limits[i])
		if err != nil {
			return 0, err
		}
		if some += n; i == 0 {
			first = n
		}
	}
	if some == 0 {
		return 0, errors.New("headrace: all sequences are empty: there is nothing to pack; " +
			"leave such samples out, with filter or on_error=\"skip\"")
	}
	return first, nil
}

// chosenOf returns the length of the sequence that chooses the bucket. Others must not be
// longer than the last bucket: a batch has no more room for them.
func (g *Grouping) chosenOf(v *record.Values) (chosen int, err error) {
	for i := range g.Sequences {
		n, err := g.fit(i, g.Length(v, i), g.Limit)
		if err != nil {
			return 0, err
		}
		if i == g.By {
			chosen = n
		}
	}
	return chosen, nil
}

// Extents returns the extents of a batch of samples that is padded to a length in the
// sequence that chose its bucket, and in others to their own longest.
func (g *Grouping) Extents(to int, all iter.Seq[*record.Record]) (extents []int) {
	for i := range g.Sequences {
		if i == g.By {
			if g.Open {
				extents = append(extents, to)
			}
			continue
		}
		longest := 0
		for it := range all {
			longest = max(longest, min(g.Length(it.Values, i), g.Limit))
		}
		extents = append(extents, longest)
	}
	return extents
}

// Length returns the length of the i-th sequence.
func (g *Grouping) Length(v *record.Values, i int) int {
	return v.Arrays[g.Sequences[i].Place.At].Shape[0]
}

// fit returns the length that a sequence counts with.
func (g *Grouping) fit(sequence, length, limit int) (int, error) {
	n, err := g.Overlong.Fit(length, limit)
	if err != nil && err != pipe.Skip {
		err = &overlong{err: err, field: g.Sequences[sequence].Name, length: length, limit: limit,
			row: g.Equal || g.Limits != nil, split: g.Equal, other: g.By >= 0 && sequence != g.By}
	}
	return n, err
}

// overlong is a [group.LengthError] that names the field, and what to do.
type overlong struct {
	err           error
	field         string
	length, limit int
	row           bool // of pack; otherwise the last bucket is too short
	split         bool // it could be cut
	other         bool // it could choose the bucket
}

func (e *overlong) Unwrap() error { return e.err }

func (e *overlong) Error() string {
	has, more := "the last bucket", "add a bucket to lengths"
	if e.row {
		has, more = "a row", "raise length"
	}
	if e.other {
		more += fmt.Sprintf(", or have this field choose: by=%q", e.field)
	}
	words := `"truncate" or "drop"`
	if e.split {
		words = `"truncate", "drop" or "split"`
	}
	return fmt.Sprintf("headrace: the field %q has %d elements, and %s has room for %d: %s, or write overlong=%s",
		e.field, e.length, has, e.limit, more, words)
}

// Name names a sample in every run of a rank.
func Name(it *record.Record) string {
	return it.Source.Name + ":" + strconv.FormatInt(it.ID.Pos, 10) + string(it.ID.Output)
}

// DomainAt tells samples apart by a column of text or of a number.
func DomainAt(at record.Column) func(*record.Record) string {
	if at.Kind == record.Texts {
		return func(it *record.Record) string { return it.Values.Texts[at.At] }
	}
	return func(it *record.Record) string { return string(it.Values.Numbers[at.At:][:at.Size]) }
}

// takes tells whether a sample fits into a batch that was made for another.
func (g *Grouping) takes(it *record.Record, b *Batch) bool {
	f := b.form.Load()
	if g.Class != nil || g.Picture.Kind == record.Images {
		return &g.Layout.Forms[it.Group] == f
	}
	if g.By >= 0 {
		for i, n := range g.Extents(it.Length, func(yield func(*record.Record) bool) { yield(it) }) {
			if n > f.extents[i] {
				return false
			}
		}
		return g.Open || it.Length <= g.Limit
	}
	return len(f.extents) == 0 || it.Length <= f.extents[0]
}

// Reserve waits for the bytes that decoding takes. One sample at a time does.
func (g *Grouping) Reserve(ctx context.Context, it *record.Record) (err error) {
	if err = g.Scope.ReserveIn(ctx, it, g.Lane, g.served.Add(1)); err != nil {
		g.Env.Drop(it)
	}
	return err
}

// OfLength is the form of a batch that is padded to a length.
func (l *Layout) OfLength(n int) *Form {
	for i := range l.Forms {
		if f := &l.Forms[i]; len(f.extents) == 0 || f.extents[0] == n {
			return f
		}
	}
	var extents []int
	for range l.unknown() {
		extents = append(extents, n)
	}
	return l.OfExtents(extents)
}

// OfExtents is the form of a batch with these extents, none of which is larger than those
// that were laid out.
func (l *Layout) OfExtents(extents []int) *Form {
	f, err := l.form(Size{Rows: l.Rows, Extents: extents})
	if err != nil {
		panic(err) // a larger one was laid out
	}
	return &f
}
