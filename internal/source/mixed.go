package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/stats"
)

// Mixed are the samples of several sources, in turns: positions of an epoch become turns
// by arithmetic, and turns become samples of a source, which begins again, shuffled
// again, whenever it has given all that it has.
type Mixed struct {
	Of []*Listing
	Tally
	mix turns
	In  *Arrivals // whose source this is, again and again; nil: it is a mix itself
}

// turns says which of several sources each turn of an epoch is, and which of that
// source's draws.
type turns interface {
	Turns() int64
	Epoch(epoch int) func(place int64) (source int, draw int64)
	Before(epoch int) []int64
}

// Tally counts what came of each source of a mix.
type Tally struct {
	Names []string
	asked []float64 // the share of each at first
	given []atomic.Int64
}

// NewTally counts what came of sources that were asked for by shares.
func NewTally(names []string, shares []uint64) Tally {
	return Tally{names, partsOf(shares), make([]atomic.Int64, len(names))}
}

// Mix makes the listing of a mix of sources, whose steps are batches of such a split; or,
// if it takes them as they arrive, a listing of each.
func Mix(m *fuse.Merge, of []*Listing, batches order.Split) ([]*Listing, error) {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%w: mix %q: "+format, append([]any{core.ErrConfig, m.Name}, args...)...)
	}
	lengths := make([]int64, len(of))
	if inner := slices.IndexFunc(of, func(s *Listing) bool { return s.Iterated() || s.Sampled() }); inner >= 0 {
		return nil, refuse("source %q has no number of samples", m.Names[inner]) // recipes with such ones are refused
	}
	for i, s := range of {
		lengths[i] = s.Drawn()
		for k, other := range m.Names[:i] {
			if other == m.Names[i] {
				return nil, refuse("two sources are called %q: give names, one for each; the others are sources %d and %d", other, k, i)
			}
		}
	}

	turns, stretches, err := sharesOf(m, lengths, batches)
	if err != nil {
		return nil, refuse("%w", err)
	}
	c := &Mixed{Of: of, Tally: NewTally(m.Names, stretches[0].Shares), mix: order.NewMix(turns, m.Seed, stretches...)}
	if m.Mix.Choose != "" { // nobody has asked for shares
		clear(c.asked)
	}
	c.call("")
	if m.Mix.Arrivals {
		return newArrivals(m, c, stretches), nil
	}
	first := of[0].First
	l := &Listing{Source: record.Source{Name: m.Name, Draws: order.SourceID(m.Name), First: first, Samples: turns},
		Names: []string{m.Name}, Contents: c}
	l.Key = c.Key
	return []*Listing{l}, nil
}

// call gives sources the names that they have in the mix.
func (m *Mixed) call(around string) {
	for i, s := range m.Of {
		if inner, ok := s.Contents.(*Mixed); ok {
			inner.call(around + m.Names[i] + "/")
		}
		s.Path = around + m.Names[i]
	}
}

// Len implements [Contents]: it is the turns of an epoch.
func (m *Mixed) Len() int64 { return m.mix.Turns() }

// Key implements [Contents]. Samples of a mix have the keys of their own sources.
func (m *Mixed) Key(int64) string { return "" }

// Link implements [Contents]: sources are linked themselves.
func (m *Mixed) Link(*core.Env, *fuse.Source, sample.Schema, *record.Columns) (*python.Function, error) {
	return nil, nil
}

// Fetch implements [Contents]: sources fetch themselves.
func (m *Mixed) Fetch(context.Context, *core.Env, *record.Record) (int64, error) { return 0, nil }

// Digest implements [Digested]: with other numbers of samples, also of those that ranges
// were chosen of, or other shards, other samples would have the same turns.
func (m *Mixed) Digest() string {
	if m.In != nil {
		return m.In.digest
	}
	var all []string
	for _, s := range m.Of {
		text := fmt.Sprint(s.Drawn())
		if of := s.Of(); of != nil {
			text += fmt.Sprint(of)
		}
		if d, ok := s.Contents.(Digested); ok {
			text += ":" + d.Digest()
		}
		all = append(all, text)
	}
	h := sha256.Sum256([]byte(strings.Join(all, ",")))
	return hex.EncodeToString(h[:8])
}

// Changed implements [Digested].
func (m *Mixed) Changed(was string) error {
	if was == m.Digest() {
		return nil
	}
	return errors.New("one of its sources has other samples, or another number of them, than when the state was saved")
}

// ShareOut gives the sources of a mix their parts of its share of the first epoch: how
// many samples they give, as far as people and limits want to know.
func (l *Listing) ShareOut() {
	m, ok := l.Contents.(*Mixed)
	if !ok {
		return
	}
	if m.In != nil { // how often it restarts is not known
		of := m.Of[0]
		of.Split = order.Split{Samples: of.Drawn(), Batch: 1, World: 1}
		of.ShareOut()
		return
	}
	before, after := m.mix.Before(0), m.mix.Before(1)
	for i, s := range m.Of {
		part := float64(after[i]-before[i]) / float64(m.Len())
		s.Split = order.Split{Samples: int64(part*float64(l.Split.Len()) + 0.5), Batch: 1, World: 1}
		s.ShareOut()
	}
}

// Came notes that so much of a source is on its way.
func (t *Tally) Came(source int, n int64) { t.given[source].Add(n) }

// Stats tells how much came of each source.
func (t *Tally) Stats() (all []stats.Mixed) {
	for i, name := range t.Names {
		all = append(all, stats.Mixed{Name: name, Asked: t.asked[i], Given: t.given[i].Load()})
	}
	return all
}

// taken is the sample of a turn: one of a source, with the number of the turn among that
// source's, over all epochs.
type taken struct {
	from  *Listing
	index int64
	pass  int
	turn  int64
}

// taking returns the function from a place of an epoch, or of a pass in a mix, to the
// sample there. It is for one goroutine.
func (l *Listing) taking(epoch int) func(place int64) taken {
	m, ok := l.Contents.(*Mixed)
	if !ok {
		if l.Order != nil {
			_, _ = l.Order.Epoch(context.Background(), epoch) // of weighted draws, which have no errors, and are known then
		}
		n, course := l.Drawn(), l.Course(epoch)
		return func(place int64) taken {
			return taken{l, course.Sample(course.Part.At(place)), epoch, int64(epoch)*n + place}
		}
	}
	turns := m.mix.Epoch(epoch)
	passes := make([]passing, len(m.Of))
	for i, s := range m.Of {
		passes[i] = passing{of: s, length: s.Drawn()}
	}
	return func(place int64) taken {
		source, draw := turns(place)
		return passes[source].at(draw)
	}
}

// passing goes through the samples of a source again and again.
type passing struct {
	of     *Listing
	length int64
	last   [2]struct { // of two passes after each other, whose turns are near each other
		number int64
		at     func(place int64) taken
	}
}

func (p *passing) at(draw int64) taken {
	number := draw / p.length
	last := &p.last[number&1]
	if last.at == nil || last.number != number {
		last.number, last.at = number, p.of.taking(int(number))
	}
	return last.at(draw % p.length)
}

// records yields the samples of an epoch from a position on.
func (m *Mixed) records(l *Listing, epoch int, pos int64, yield func(*record.Record, error) bool) {
	share, take := l.Share(epoch), l.taking(epoch)
	for n := share.Len(); pos < n; pos++ {
		place, _ := share.At(pos)
		if l.ends(pos) || !yield(l.of(take(place), epoch, pos), nil) {
			return
		}
	}
}

// record returns the sample at a position, not read yet.
func (m *Mixed) record(l *Listing, epoch int, pos int64) *record.Record {
	place, _ := l.Share(epoch).At(pos)
	return l.of(l.taking(epoch)(place), epoch, pos)
}

// of makes the record of a turn.
func (l *Listing) of(t taken, epoch int, pos int64) *record.Record {
	r := t.from.Record(epoch, pos, t.index)
	r.ID.Source = l.Name // whose position it is
	if l.Whole != nil {
		r.StandIn(l.Lane, pos) // for of each lane the oldest is admitted
	}
	r.Pass = t.pass
	r.Turn = t.turn + 1 // it may come several times in an epoch, and draws something else each time
	return r
}

// Mixes yields a listing that is a mix, and the mixes in it.
func (l *Listing) Mixes() iter.Seq[*Listing] {
	return func(yield func(*Listing) bool) { l.mixes(yield) }
}

func (l *Listing) mixes(yield func(*Listing) bool) bool {
	m, ok := l.Contents.(*Mixed)
	if !ok {
		return true
	}
	if m.In == nil && !yield(l) {
		return false
	}
	return !slices.ContainsFunc(m.Of, func(s *Listing) bool { return !s.mixes(yield) })
}

// Leaves returns the sources of a listing that are no mixes: itself, if it is none.
func (l *Listing) Leaves() (all []*Listing) {
	m, ok := l.Contents.(*Mixed)
	if !ok {
		return []*Listing{l}
	}
	for _, s := range m.Of {
		all = append(all, s.Leaves()...)
	}
	return all
}
