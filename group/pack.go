package group

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/headrace/headrace/pipe"
)

// Row is several samples after each other. From Length on it is empty.
type Row[T any] struct {
	Segments []Segment[T]
	Length   int   // of all segments
	Others   []int // likewise of further sequences; nil: samples have none

	Ends bool // it is the last of a round of lanes
}

// Used is the length of all segments of the i-th sequence, of which the first is 0.
func (r *Row[T]) Used(i int) int {
	if i == 0 {
		return r.Length
	}
	return r.Others[i-1]
}

// Segment is a sample in a row, or a part of one.
type Segment[T any] struct {
	Item   T
	Offset int // in the row, at which it begins
	Length int // that it takes; less than the sample has where that was truncated or cut
	Start  int // in the sample: more than 0 where a row before has its beginning

	Goes   bool   // the rest of it is in a later row
	Others []Span // of further sequences
}

// Span is the place of a sequence in a row.
type Span struct{ Offset, Length int }

// Span returns the place of the i-th sequence of the sample, of which the first is 0.
func (s *Segment[T]) Span(i int) Span {
	if i == 0 {
		return Span{s.Offset, s.Length}
	}
	return s.Others[i-1]
}

// Fit says which samples share a row.
type Fit uint8

const (
	BestFit  Fit = iota // the longest that is held, and then always the longest that fits
	FirstFit            // the longest that is held, and of the others, in their order, each that fits
	Wrap                // samples are laid end to end and cut where rows end
	BestWrap            // as BestFit; what stays empty takes the beginning of another sample
)

// cuts tells whether a sample may be in two rows.
func (f Fit) cuts() bool { return f == Wrap || f == BestWrap }

// PackOpts are the settings of [Pack].
type PackOpts struct {
	Length   int   // of a row; required
	Others   []int // of a row of further sequences that each sample has; only of fits that do not cut
	Segments int   // the most samples of a row; 0: no limit
	Open     int   // as many rows' worth of samples are held; 0: DefaultOpen. More leave less room
	Fit      Fit
	Overlong Overlong
}

// Check returns what is wrong with the settings, all of it.
func (o PackOpts) Check() error {
	errs := []error{o.Overlong.check()}
	for _, n := range append([]int{o.Length}, o.Others...) {
		if n < 1 {
			errs = append(errs, fmt.Errorf("group: rows of length %d: must be at least 1", n))
		}
	}
	if len(o.Others) > 0 && o.Fit.cuts() {
		errs = append(errs, errors.New("group: rows of several lengths, and a fit that cuts: it needs sequences that are equally long"))
	}
	if o.Segments < 0 || o.Open < 0 {
		errs = append(errs, fmt.Errorf("group: %d segments in each of %d open rows: must be at least 0", o.Segments, o.Open))
	}
	if o.Fit > BestWrap {
		errs = append(errs, fmt.Errorf("group: fit(%d): must be BestFit, FirstFit, Wrap or BestWrap", o.Fit))
	}
	return errors.Join(errs...)
}

// Packed tells [PackBy] of samples.
type Packed[T any] struct {
	Length func(T) int
	Other  func(v T, i int) int // of the i-th of PackOpts.Others
	Domain func(T) string       // rows have samples of one domain; nil: of any

	// Of fits that cut:
	ID  func(T) string     // of a sample in every run
	Cut func(v T, n int) T // another value for its first n elements, in a row of its own
}

// Pack makes aggregators that put samples into rows of one length. Samples are held until
// they are more than Open rows take; then a row is made of some of them and handed on.
// The fit says which. [Wrap] holds no more than a row takes. At the end of an epoch rows
// are made until nothing is left. A sample of length 0 fails.
//
// Samples of a row are in their order. A row depends on the samples that are held, in
// their order, and on the lengths of beginnings that are gone of them. The aggregator
// remembers these by the sample's ID, so that a run that is resumed between the two rows
// of a sample gives the rest: the sample is finished with the second one.
func Pack[T any](length func(T) int, o PackOpts) (begin func() pipe.Aggregator[T, Row[T]], err error) {
	if o.Fit.cuts() {
		return nil, errors.New("group: a fit that cuts needs PackBy")
	}
	return PackBy(Packed[T]{Length: length}, o)
}

// PackBy is [Pack] of samples with more to say.
func PackBy[T any](of Packed[T], o PackOpts) (begin func() pipe.Aggregator[T, Row[T]], err error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if o.Fit.cuts() && (of.ID == nil || of.Cut == nil) {
		return nil, errors.New("group: a fit that cuts needs the functions ID and Cut")
	}
	if o.Segments == 0 { // no more have room, since each has one element
		o.Segments = o.Length
		for _, n := range o.Others {
			o.Segments += n
		}
	}
	if o.Open == 0 {
		o.Open = DefaultOpen
	}
	return func() pipe.Aggregator[T, Row[T]] {
		return &pack[T]{of: of, opts: o, domains: make(map[string]*shelf[T]), filled: make([]int, 1+len(o.Others)),
			cuts: map[string]int{}, remembered: "{}"}
	}, nil
}

type pack[T any] struct {
	of      Packed[T]
	opts    PackOpts
	domains map[string]*shelf[T] // with what is held
	largest shelves[T]           // likewise
	held    int                  // samples, in all
	filled  []int                // the sums of all their lengths, by sequence
	came    int                  // samples, in this run
	gone    map[string]int       // how much of samples is, that come again after a resume
	cuts    map[string]int       // how much is of those that are held
	members []pipe.Held[T]
	chosen  []*waiting[T] // for the row that is being made
	room    []int         // that is left in it
	spare   []*waiting[T]

	remembered string // cuts as JSON; "": they have changed
}

// waiting is a sample that is held.
type waiting[T any] struct {
	held   pipe.Held[T]
	number int // in which it came
	length int // of what is left
	others []int
	start  int    // how much of it is gone
	id     string // where some is
	taken  bool   // into the row that is being made

	before, after *waiting[T] // in the order in which they came
}

// Resume implements [pipe.Resumer].
func (p *pack[T]) Resume(m pipe.Memory) error {
	if err := json.Unmarshal([]byte(m.State), &p.gone); err != nil {
		return fmt.Errorf("group: what was remembered of samples that are cut: %w", err)
	}
	return nil
}

// state returns the beginnings that are gone, by samples, for the next run.
func (p *pack[T]) state() string {
	if p.remembered == "" {
		text, _ := json.Marshal(p.cuts)
		p.remembered = string(text)
	}
	return p.remembered
}

// Add implements [pipe.Aggregator].
func (p *pack[T]) Add(_ context.Context, v pipe.Held[T], e *pipe.Emitter[T, Row[T]]) error {
	w := p.blank()
	w.held = v
	if err := p.measure(w); err != nil {
		return err
	}

	domain := ""
	if p.of.Domain != nil {
		domain = p.of.Domain(v.Value)
	}
	to := p.domains[domain]
	if to == nil {
		to = &shelf[T]{domain: domain, at: -1}
		p.domains[domain] = to
	}
	w.number = p.came
	p.came++
	to.inOrder.add(w)
	p.put(to, w)
	p.largest.settle(to)

	for {
		from := p.due(to)
		if from == nil {
			return nil
		}
		p.emit(from, e)
	}
}

// Flush implements [pipe.Aggregator].
func (p *pack[T]) Flush(_ context.Context, e *pipe.Emitter[T, Row[T]]) error {
	for p.held > 0 {
		p.emit(p.largest[0], e)
	}
	return nil
}

// blank is room for a sample.
func (p *pack[T]) blank() *waiting[T] {
	if n := len(p.spare); n > 0 {
		w := p.spare[n-1]
		p.spare = p.spare[:n-1]
		*w = waiting[T]{others: w.others[:0]}
		return w
	}
	return new(waiting[T])
}

// measure says how long a sample is.
func (p *pack[T]) measure(w *waiting[T]) (err error) {
	v := w.held.Value
	if w.length, err = p.opts.Overlong.Fit(p.of.Length(v), p.opts.Length); err != nil {
		return err
	}
	some := w.length
	for i, limit := range p.opts.Others {
		n, err := p.opts.Overlong.Fit(p.of.Other(v, i), limit)
		if err != nil {
			return err
		}
		w.others = append(w.others, n)
		some += n
	}
	if some == 0 {
		return errors.New("group: its length is 0: there is nothing to pack")
	}
	if len(p.gone) > 0 {
		id := p.of.ID(v)
		if n := p.gone[id]; n > 0 && n < w.length {
			w.id, w.start, w.length = id, n, w.length-n
			delete(p.gone, id)
		}
	}
	return nil
}

// put counts a sample that is on a shelf, and lines it up by its length.
func (p *pack[T]) put(to *shelf[T], w *waiting[T]) {
	p.count(to, w, 1)
	if w.start > 0 {
		p.cuts[w.id], p.remembered = w.start, ""
	}
	if p.opts.Fit == Wrap {
		return
	}
	at, _ := slices.BinarySearchFunc(to.longest, w, longer)
	to.longest = slices.Insert(to.longest, at, w)
}

// longer orders samples by their length, and equal ones as they came.
func longer[T any](a, b *waiting[T]) int { return cmp.Or(b.length-a.length, a.number-b.number) }

// without takes a sample out of those by their length. There may be hundreds, and each
// row takes a few of them.
func (s *shelf[T]) without(w *waiting[T]) {
	if at, ok := slices.BinarySearchFunc(s.longest, w, longer); ok {
		s.longest = slices.Delete(s.longest, at, at+1)
	}
}

// count adds a sample to the sums, or takes it out of them.
func (p *pack[T]) count(of *shelf[T], w *waiting[T], sign int) {
	p.held += sign
	of.length += sign * w.length
	p.filled[0] += sign * w.length
	for i, n := range w.others {
		of.length += sign * n
		p.filled[1+i] += sign * n
	}
}

// due returns the shelf of which a row has to be made now, after a sample has come to
// one; nil: nothing has to.
func (p *pack[T]) due(newest *shelf[T]) *shelf[T] {
	if p.opts.Fit == Wrap && (newest.length >= p.opts.Length || newest.inOrder.len >= p.opts.Segments) {
		return newest
	}
	full := p.held > p.opts.Open*p.opts.Segments || p.filled[0] > p.opts.Open*p.opts.Length
	for i, n := range p.opts.Others {
		full = full || p.filled[1+i] > p.opts.Open*n
	}
	if !full {
		return nil
	}
	return p.largest[0]
}

// emit hands on a row of samples of a shelf.
func (p *pack[T]) emit(from *shelf[T], e *pipe.Emitter[T, Row[T]]) {
	chosen := p.choose(from)
	row := Row[T]{Segments: make([]Segment[T], 0, len(chosen)+1)}
	if len(p.opts.Others) > 0 {
		row.Others = make([]int, len(p.opts.Others))
	}
	p.members = p.members[:0]
	for _, w := range chosen {
		s := Segment[T]{Item: w.held.Value, Offset: row.Length, Length: w.length, Start: w.start}
		row.Length += w.length
		for k, n := range w.others {
			s.Others = append(s.Others, Span{row.Others[k], n})
			row.Others[k] += n
		}
		row.Segments, p.members = append(row.Segments, s), append(p.members, w.held)
	}
	p.remove(from, chosen)
	if len(chosen) < p.opts.Segments && row.Length < p.opts.Length {
		if w := p.toCut(from); w != nil {
			row.Segments = append(row.Segments, p.cut(from, w, row.Length))
			row.Length = p.opts.Length
		}
	}
	p.largest.settle(from)
	if from.inOrder.len == 0 {
		delete(p.domains, from.domain)
	}

	if !p.opts.Fit.cuts() {
		e.Emit(row, p.members...)
	} else {
		o := e.Open(p.members...)
		o.Emit(row)
		o.Close(p.state())
	}
	clear(p.members)
}

// remove takes samples off a shelf.
func (p *pack[T]) remove(from *shelf[T], chosen []*waiting[T]) {
	for _, w := range chosen {
		p.count(from, w, -1)
		if w.start > 0 {
			delete(p.cuts, w.id)
			p.remembered = ""
		}
		from.inOrder.remove(w)
		from.without(w)
		w.held = pipe.Held[T]{} // the value is another's now
		p.spare = append(p.spare, w)
	}
}

// toCut returns the sample whose beginning fills a row that has no room for all of it;
// nil: there is none.
func (p *pack[T]) toCut(from *shelf[T]) *waiting[T] {
	switch {
	case p.opts.Fit == Wrap && from.inOrder.len > 0:
		return from.inOrder.first
	case p.opts.Fit == BestWrap:
		if i := slices.IndexFunc(from.longest, func(w *waiting[T]) bool { return w.start == 0 }); i >= 0 {
			return from.longest[i]
		}
	}
	return nil
}

// cut takes the beginning of a sample that is held for the end of a row.
func (p *pack[T]) cut(from *shelf[T], w *waiting[T], offset int) Segment[T] {
	n := p.opts.Length - offset
	p.count(from, w, -1)
	from.without(w)
	w.id, w.start, w.length = p.of.ID(w.held.Value), n, w.length-n
	p.put(from, w)
	return Segment[T]{Item: p.of.Cut(w.held.Value, n), Offset: offset, Length: n, Goes: true}
}
