package group_test

import (
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/pipe"
)

// part is a sample, or a part of one, in a row.
type part struct{ item, start, length int }

// packer is the packing by the book: lists of what is held, without a sum kept.
type packer struct {
	o      group.PackOpts
	domain func(int) string
	held   []part
	done   [][]part
}

func (p *packer) sum(domain string, all bool) (samples, length int) {
	for _, h := range p.held {
		if all || p.domain(h.item) == domain {
			samples, length = samples+1, length+h.length
		}
	}
	return samples, length
}

func (p *packer) add(item, length int) {
	p.held = append(p.held, part{item, 0, length})
	for {
		samples, sum := p.sum(p.domain(item), false)
		if p.o.Fit == group.Wrap && (sum >= p.o.Length || samples >= p.segments()) {
			p.row(p.domain(item))
			continue
		}
		if samples, sum := p.sum("", true); samples <= p.o.Open*p.segments() && sum <= p.o.Open*p.o.Length {
			return
		}
		p.row(p.largest())
	}
}

func (p *packer) segments() int {
	if p.o.Segments == 0 {
		return p.o.Length
	}
	return p.o.Segments
}

func (p *packer) largest() (domain string) {
	most := 0
	for _, h := range p.held {
		if _, n := p.sum(p.domain(h.item), false); n > most {
			domain, most = p.domain(h.item), n
		}
	}
	return domain
}

// row makes a row of a domain.
func (p *packer) row(domain string) {
	var of []part
	for _, h := range p.held {
		if p.domain(h.item) == domain {
			of = append(of, h)
		}
	}
	var row []part
	room := p.o.Length
	take := func(h part) bool {
		if h.length > room || len(row) == p.segments() || slices.Contains(row, h) {
			return false
		}
		row, room = append(row, h), room-h.length
		return true
	}
	byLength := slices.Clone(of)
	slices.SortStableFunc(byLength, func(a, b part) int { return b.length - a.length })
	switch p.o.Fit {
	case group.Wrap:
		for _, h := range of {
			if !take(h) {
				break
			}
		}
	case group.FirstFit:
		take(byLength[0])
		for _, h := range of {
			take(h)
		}
	default:
		for _, h := range byLength {
			take(h)
		}
	}
	slices.SortFunc(row, func(a, b part) int { return a.item - b.item })
	p.held = slices.DeleteFunc(p.held, func(h part) bool { return slices.Contains(row, h) })

	cut := -1
	for i, h := range p.held {
		switch {
		case room == 0 || len(row) == p.segments() || p.domain(h.item) != domain:
		case p.o.Fit == group.Wrap && cut < 0:
			cut = i
		case p.o.Fit == group.BestWrap && h.start == 0 && (cut < 0 || h.length > p.held[cut].length):
			cut = i
		}
	}
	if cut >= 0 {
		h := &p.held[cut]
		row = append(row, part{h.item, h.start, room})
		h.start, h.length = h.start+room, h.length-room
	}
	p.done = append(p.done, row)
}

func (d drawn) domain(i int) string { return strconv.Itoa(i * 7 % 5 % d.domains) }

// packing is what there is to say of drawn samples.
func (d drawn) packing() group.Packed[int] {
	return group.Packed[int]{Length: d.length, Domain: d.domain, ID: strconv.Itoa, Cut: func(i, n int) int { return i }}
}

func TestPackingIsByTheBook(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := draw(rt)
		got, err := collect(t, rows(len(d.lengths), must(group.PackBy(d.packing(), d.pack))), pipe.Config{})
		if err != nil {
			rt.Fatal(err)
		}
		p := packer{o: d.pack, domain: d.domain}
		for i, n := range d.lengths {
			p.add(i, n)
		}
		for len(p.held) > 0 {
			p.row(p.largest())
		}
		if len(got) != len(p.done) {
			rt.Fatalf("%d rows, want %d", len(got), len(p.done))
		}
		for k, r := range got {
			var is []part
			at := 0
			for _, s := range r.Segments {
				if is = append(is, part{s.Item, s.Start, s.Length}); s.Offset != at || s.Goes != (s.Start+s.Length < d.lengths[s.Item]) {
					rt.Fatalf("row %d is %v", k, r)
				}
				at += s.Length
			}
			if !slices.Equal(is, p.done[k]) || r.Length != at {
				rt.Fatalf("row %d is %v, want %v", k, r, p.done[k])
			}
		}
	})
}

// Every element comes once, in the order of its sample, which is cut at most once and
// only at the end of a full row. Rows keep to all bounds.
func TestNoElementIsLostOrComesTwice(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := draw(rt)
		got, err := collect(t, rows(len(d.lengths), must(group.PackBy(d.packing(), d.pack))), pipe.Config{})
		if err != nil {
			rt.Fatal(err)
		}
		came := make([]int, len(d.lengths))
		parts := make([]int, len(d.lengths))
		for _, r := range got {
			if len(r.Segments) == 0 || r.Length > d.pack.Length || d.pack.Segments > 0 && len(r.Segments) > d.pack.Segments {
				rt.Fatalf("%v is more than a row takes", r)
			}
			for i, s := range r.Segments {
				if s.Start != came[s.Item] || d.domain(s.Item) != d.domain(r.Segments[0].Item) {
					rt.Fatalf("%v comes when %d elements have, in a row of %s", s, came[s.Item], d.domain(r.Segments[0].Item))
				}
				if s.Goes && (r.Length != d.pack.Length || i < len(r.Segments)-1) {
					rt.Fatalf("%v is cut and its row %v not full with it", s, r)
				}
				came[s.Item] += s.Length
				parts[s.Item]++
			}
		}
		if !slices.Equal(came, d.lengths) || len(parts) > 0 && slices.Max(parts) > 2 {
			rt.Fatalf("%v elements came in %v parts, of %v", came, parts, d.lengths)
		}
	})
}

// Samples of several sequences have rows of several lengths, and no row is too long.
func TestRowsOfSeveralSequences(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := draw(rt)
		if d.pack.Fit > group.FirstFit {
			d.pack.Fit -= 2
		}
		other := func(i, k int) int { return (i*5 + k) % 7 }
		d.pack.Others = []int{rapid.IntRange(6, 20).Draw(rt, "second"), rapid.IntRange(6, 20).Draw(rt, "third")}
		of := d.packing()
		of.Other = other
		got, err := collect(t, rows(len(d.lengths), must(group.PackBy(of, d.pack))), pipe.Config{})
		if err != nil {
			rt.Fatal(err)
		}
		seen := map[int]bool{}
		for _, r := range got {
			at := []int{0, 0, 0}
			for _, s := range r.Segments {
				for k := range at {
					n := d.lengths[s.Item]
					if k > 0 {
						n = other(s.Item, k-1)
					}
					if s.Span(k) != (group.Span{Offset: at[k], Length: n}) {
						rt.Fatalf("%v, of which the sequence %d is %d", r, k, n)
					}
					at[k] += n
				}
				if seen[s.Item] {
					rt.Fatalf("%d comes twice", s.Item)
				}
				seen[s.Item] = true
			}
			for k, most := range append([]int{d.pack.Length}, d.pack.Others...) {
				if at[k] != r.Used(k) || at[k] > most {
					rt.Fatalf("%v is longer than %d in %d", r, most, k)
				}
			}
		}
		if len(seen) != len(d.lengths) {
			rt.Fatalf("%d samples of %d", len(seen), len(d.lengths))
		}
	})
}

// Each document may have a domain of its own. To look at all that are held for each row
// would take minutes here.
func TestPackingOfManyDomains(t *testing.T) {
	const n = 200_000
	for _, fit := range []group.Fit{group.BestFit, group.BestWrap} {
		length := func(i int) int { return 1 + i*7919%1000 }
		of := group.Packed[int]{Length: length, Domain: strconv.Itoa, ID: strconv.Itoa, Cut: func(i, n int) int { return i }}
		got, err := collect(t, rows(n, must(group.PackBy(of, group.PackOpts{Length: 1024, Open: 1000, Fit: fit}))), pipe.Config{})
		if err != nil || len(got) != n {
			t.Fatalf("%d rows, %v", len(got), err)
		}
		came := make([]bool, n)
		for k, r := range got {
			if i := r.Segments[0].Item; len(r.Segments) != 1 || came[i] || r.Length != length(i) {
				t.Fatalf("row %d is %v", k, r)
			}
			came[r.Segments[0].Item] = true
		}
	}
}

// Nothing can be put of a sample that is empty: it fails by itself, and no row has it.
func TestEmptySamplesAreNotPacked(t *testing.T) {
	length := func(i int) int { return 2 * (i % 2) }
	for _, fit := range []group.Fit{group.BestFit, group.FirstFit, group.Wrap, group.BestWrap} {
		of := group.Packed[int]{Length: length, ID: strconv.Itoa, Cut: func(i, n int) int { return i }}
		begin := must(group.PackBy(of, group.PackOpts{Length: 4, Fit: fit}))
		got, err := collect(t, rows(5, begin), pipe.Config{})
		want := "pipe: stage pack: epoch 0, item 0: group: its length is 0: there is nothing to pack"
		if err == nil || err.Error() != want || len(got) != 0 {
			t.Errorf("%v: %v, %v", fit, err, got)
		}
		got, err = collect(t, rows(5, begin), pipe.Config{Failures: pipe.Policy{Skip: true, Count: 3}})
		if err != nil || len(got) != 1 || len(got[0].Segments) != 2 || got[0].Segments[0].Item != 1 || got[0].Segments[1].Item != 3 {
			t.Errorf("%v: %v, %v", fit, got, err)
		}
		if _, err := collect(t, rows(5, begin), pipe.Config{Failures: pipe.Policy{Skip: true, Count: 2}}); err == nil {
			t.Errorf("%v: three of them were two", fit)
		}
	}
}
