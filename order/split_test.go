package order_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/order"

	"pgregory.net/rapid"
)

// place is where a rank's row comes from.
type place struct {
	at      int64
	wrapped bool
}

// batches lists all batches of a rank, and checks that all methods agree about them.
func batches(t interface{ Fatalf(string, ...any) }, s order.Split) [][]place {
	var all [][]place
	pos, wrapped := int64(0), int64(0)
	for k := range s.Batches() {
		var rows []place
		for range s.Rows(k) {
			at, again := s.At(pos)
			if at < 0 || at >= s.Samples {
				t.Fatalf("%+v: position %d is place %d", s, pos, at)
			}
			rows = append(rows, place{at, again})
			if again {
				wrapped++
			}
			pos++
		}
		if len(rows) > s.BatchSize() || k < s.Batches()-1 && len(rows) != s.BatchSize() || len(rows) == 0 {
			t.Fatalf("%+v: batch %d of %d has %d rows, a full one %d", s, k, s.Batches(), len(rows), s.BatchSize())
		}
		all = append(all, rows)
	}
	if pos != s.Len() || wrapped != s.Wrapped() {
		t.Fatalf("%+v: %d samples and %d wrapped, but Len is %d and Wrapped %d", s, pos, wrapped, s.Len(), s.Wrapped())
	}
	return all
}

func TestSplitMatchesListsThatAreCut(t *testing.T) {
	var requests []splitRequest
	for samples := range int64(26) {
		for batch := int64(1); batch <= 9; batch++ {
			for world := 1; world <= int(batch); world++ {
				requests = append(requests, splitRequest{"split", samples, batch, world, false}, splitRequest{"split", samples, batch, world, true})
			}
		}
	}
	for i, want := range reference[[][][][2]any](t, requests) {
		r := requests[i]
		for rank := range r.World {
			s := order.Split{Samples: r.Samples, Batch: r.Batch, World: r.World, Rank: rank, DropLast: r.DropLast}
			if err := s.Check(); err != nil {
				t.Fatal(err)
			}
			var got [][][2]any
			for _, rows := range batches(t, s) {
				var b [][2]any
				for _, p := range rows {
					b = append(b, [2]any{float64(p.at), p.wrapped})
				}
				got = append(got, b)
			}
			if !slices.EqualFunc(got, want[rank], slices.Equal) {
				t.Fatalf("%+v: %v, want %v", s, got, want[rank])
			}
		}
	}
}

func drawSplit(t *rapid.T) order.Split {
	s := order.Split{
		Samples:  rapid.Int64Range(0, 5000).Draw(t, "samples"),
		World:    rapid.IntRange(1, 40).Draw(t, "world"),
		DropLast: rapid.Bool().Draw(t, "drop last"),
	}
	s.Batch = rapid.Int64Range(int64(s.World), 300).Draw(t, "batch")
	return s
}

// Ranks are disjoint, together they are the whole epoch, and each has as many batches
// as any other.
func TestRanksShareTheEpoch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSplit(t)
		seen := make(map[int64]int)
		var again []int64
		count := s.Batches()
		for s.Rank = range s.World {
			if s.Batches() != count {
				t.Fatalf("rank %d has %d batches, rank 0 %d", s.Rank, s.Batches(), count)
			}
			for _, rows := range batches(t, s) {
				for _, p := range rows {
					if p.wrapped {
						again = append(again, p.at)
					} else {
						seen[p.at]++
					}
				}
			}
		}
		missing := s.Samples - int64(len(seen))
		switch {
		case !s.DropLast && missing != 0, missing >= s.Batch, missing != 0 && missing != s.Samples%s.Batch:
			t.Fatalf("%+v: %d samples are missing", s, missing)
		}
		for at, n := range seen {
			if n != 1 {
				t.Fatalf("%+v: place %d is given %d times", s, at, n)
			}
		}
		tail := s.Samples % s.Batch
		if want := max(0, int64(s.World)-tail); tail > 0 && !s.DropLast && int64(len(again)) != want || (tail == 0 || s.DropLast) && again != nil {
			t.Fatalf("%+v: wrapped %v", s, again)
		}
		for i, at := range again {
			if at != int64(i)%s.Samples {
				t.Fatalf("%+v: wrapped %v, not from the start", s, again)
			}
		}
	})
}

// A global batch, its ranks' rows one after the other, is the same for every number of
// ranks.
func TestGlobalBatchesDoNotDependOnTheWorld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSplit(t)
		for k := range s.Samples / s.Batch {
			want := k * s.Batch
			for s.Rank = range s.World {
				for i := range int64(s.Rows(k)) {
					if at, _ := s.At(k*int64(s.BatchSize()) + i); at != want {
						t.Fatalf("%+v: batch %d: row %d is place %d, want %d", s, k, i, at, want)
					}
					want++
				}
			}
			if want != (k+1)*s.Batch {
				t.Fatalf("%+v: batch %d ends at place %d", s, k, want)
			}
		}
		// Also the smaller last one, where it has a sample for every rank.
		if tail := s.Samples % s.Batch; !s.DropLast && tail >= int64(s.World) {
			want := s.Samples - tail
			for s.Rank = range s.World {
				all := batches(t, s)
				for _, p := range all[len(all)-1] {
					if p != (place{want, false}) {
						t.Fatalf("%+v: the last batch has %v, want %d", s, p, want)
					}
					want++
				}
			}
		}
	})
}

func TestSplitOfAnEnormousEpoch(t *testing.T) {
	s := order.Split{Samples: 1<<62 + 5, Batch: 1 << 20, World: 1 << 10, Rank: 1<<10 - 1}
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	if at, _ := s.At(s.Len() - 2); at != 1<<62-1 {
		t.Errorf("the last row of the last full batch is place %d", at)
	}
	if at, wrapped := s.At(s.Len() - 1); !wrapped || at != int64(s.Rank)-5 {
		t.Errorf("the last row is place %d, wrapped %v", at, wrapped)
	}
}

func TestCheckNamesAllMistakes(t *testing.T) {
	for _, c := range []struct {
		s    order.Split
		want []string
	}{
		{order.Split{Samples: 10, Batch: 4, World: 2, Rank: 1}, nil},
		{order.Split{Batch: 1, World: 1}, nil},
		{order.Split{Samples: 10, Batch: 4, World: 4, Rank: -1}, []string{"order: the rank is -1; with a world size of 4 it must be from 0 to 3"}},
		{order.Split{Samples: 10, Batch: 4, World: 4, Rank: 4}, []string{"order: the rank is 4; with a world size of 4 it must be from 0 to 3"}},
		{order.Split{Samples: 10, Batch: 4, World: 0}, []string{"order: the world size is 0; it must be at least 1"}},
		{order.Split{Samples: 10, Batch: 4, World: -2, Rank: -1}, []string{"order: the world size is -2; it must be at least 1"}},
		{order.Split{Samples: 10, Batch: 0, World: 1}, []string{"order: the global batch size is 0; it must be at least 1"}},
		{order.Split{Samples: 10, Batch: 3, World: 4}, []string{"order: a global batch of 3 leaves some of 4 ranks without a sample"}},
		{order.Split{Samples: 10, Batch: 1 << 62, World: 4}, []string{"order: the global batch size is 4611686018427387904; it must be below 2³¹"}},
		{order.Split{Samples: -1, Batch: -1, World: 2, Rank: 2}, []string{
			"order: the number of samples is -1",
			"order: the rank is 2; with a world size of 2 it must be from 0 to 1",
			"order: the global batch size is -1; it must be at least 1",
		}},
	} {
		var got []string
		if err := c.s.Check(); err != nil {
			got = strings.Split(err.Error(), "\n")
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v:\ngot  %q\nwant %q", c.s, got, c.want)
		}
	}
}
