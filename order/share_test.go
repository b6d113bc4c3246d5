package order_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/order"

	"pgregory.net/rapid"
)

// epoch is the model: an epoch as a list of the places that remain, which is really cut
// into batches and parts.
type epoch struct {
	places   int64
	done     []bool
	batch    int64
	world    int
	dropLast bool
}

func (e *epoch) remaining() (left []int64) {
	for p, done := range e.done {
		if !done {
			left = append(left, int64(p))
		}
	}
	return left
}

// rows lists what a rank gets, batch by batch.
func (e *epoch) rows(rank int) (all [][]place) {
	left := e.remaining()
	for len(left) > 0 {
		n := min(int(e.batch), len(left))
		if n < int(e.batch) && e.dropLast {
			break
		}
		var global []place
		for _, at := range left[:n] {
			global = append(global, place{at, false})
		}
		left = left[n:]
		for at := int64(0); len(global) < e.world; at++ {
			global = append(global, place{at % e.places, true})
		}
		begin := 0
		for r := range e.world {
			size := len(global) / e.world
			if r < len(global)%e.world {
				size++
			}
			if r == rank {
				all = append(all, global[begin:begin+size])
			}
			begin += size
		}
	}
	return all
}

func (e *epoch) ranges() (done [][2]int64) {
	for p := int64(0); p < e.places; p++ {
		if !e.done[p] {
			continue
		}
		first := p
		for p < e.places && e.done[p] {
			p++
		}
		done = append(done, [2]int64{first, p})
	}
	return done
}

// share is the one under test, of rank 0.
func (e *epoch) share(t *rapid.T, done [][2]int64) order.Share {
	s := order.Split{Samples: e.places, Batch: e.batch, World: e.world, DropLast: e.dropLast}
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	share, err := s.Over(done)
	if err != nil {
		t.Fatal(err)
	}
	return share
}

// drawWorld changes who reads the epoch.
func (e *epoch) drawWorld(t *rapid.T, global bool) {
	e.world = rapid.IntRange(1, 7).Draw(t, "world")
	if !global || e.batch == 0 {
		e.batch = rapid.Int64Range(7, 20).Draw(t, "batch")
	}
}

func drawEpoch(t *rapid.T) *epoch {
	n := rapid.Int64Range(1, 150).Draw(t, "places")
	return &epoch{places: n, done: make([]bool, n), dropLast: rapid.Bool().Draw(t, "drop last")}
}

// drawFrontier has a rank finish something of what it was given: it returns the
// frontier, the places, and whether that is all.
func drawFrontier(t *rapid.T, rows []place) (f order.Frontier, finished []int64, all bool) {
	n := int64(len(rows))
	all = true
	f.Position = rapid.Int64Range(0, n).Draw(t, "position")
	for at := f.Position; at < n; {
		first := rapid.Int64Range(at, n).Draw(t, "ahead from")
		end := rapid.Int64Range(first, n).Draw(t, "ahead to")
		if first == end {
			break
		}
		f.Ahead = append(f.Ahead, [2]int64{first, end})
		at = end
	}
	if n > 0 {
		f.Lost = rapid.SliceOfN(rapid.Int64Range(0, n-1), 0, 3).Draw(t, "lost")
	}
	for pos, p := range rows {
		at := int64(pos)
		done := at < f.Position || slices.Contains(f.Lost, at)
		for _, r := range f.Ahead {
			done = done || r[0] <= at && at < r[1]
		}
		all = all && done
		if done && !p.wrapped {
			finished = append(finished, p.at)
		}
	}
	return f, finished, all
}

// An epoch is read by one world after another, and each comes as far as it comes, every
// rank differently. What a rank is given is what the model gives it, and in the end
// every place was given exactly once.
func TestAnEpochWhoseWorldChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEpoch(t)
		var done [][2]int64
		for range rapid.IntRange(1, 5).Draw(t, "changes") {
			e.drawWorld(t, false)
			share := e.share(t, done)
			frontiers := make([]order.Frontier, e.world)
			var given []int64
			whole := true
			for rank := range e.world {
				s := share
				s.Rank = rank
				rows := e.rows(rank)
				checkShare(t, s, rows)
				f, finished, all := drawFrontier(t, slices.Concat(rows...))
				frontiers[rank] = f
				given = append(given, finished...)
				whole = whole && all
			}
			for _, at := range given {
				if e.done[at] {
					t.Fatalf("place %d was given twice", at)
				}
				e.done[at] = true
			}
			var err error
			if done, err = share.Finished(frontiers); err != nil {
				t.Fatal(err)
			}
			if whole {
				if want := [][2]int64{{0, e.places}}; !slices.Equal(done, want) {
					t.Fatalf("after everything: %v", done)
				}
				return // what was dropped is never given
			}
			if want := e.ranges(); !slices.Equal(done, want) {
				t.Fatalf("world %d, batch %d, frontiers %+v: %v, want %v", e.world, e.batch, frontiers, done, want)
			}
		}
		e.drawWorld(t, false)
		share := e.share(t, done)
		for rank := range e.world {
			s := share
			s.Rank = rank
			checkShare(t, s, e.rows(rank))
		}
	})
}

// checkShare compares a share with what the model gives, in all that its methods say.
func checkShare(t *rapid.T, s order.Share, want [][]place) {
	if s.Batches() != int64(len(want)) {
		t.Fatalf("%+v: %d batches, want %d", s, s.Batches(), len(want))
	}
	pos, wrapped := int64(0), int64(0)
	for k, rows := range want {
		if s.Rows(int64(k)) != len(rows) {
			t.Fatalf("%+v: batch %d has %d rows, want %v", s, k, s.Rows(int64(k)), rows)
		}
		for _, row := range rows {
			if at, again := s.At(pos); (place{at, again}) != row {
				t.Fatalf("%+v: position %d is %d, %v, want %+v", s, pos, at, again, row)
			}
			if row.wrapped {
				wrapped++
			}
			pos++
		}
	}
	if s.Len() != pos || s.Wrapped() != wrapped {
		t.Fatalf("%+v: Len is %d and Wrapped %d, of %d and %d", s, s.Len(), s.Wrapped(), pos, wrapped)
	}
}

// Where all ranks stop after the same batch, the global batches that follow are those
// of an epoch that another world reads from its start.
func TestGlobalBatchesGoOnUnderAnotherWorld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEpoch(t)
		e.batch = rapid.Int64Range(7, 20).Draw(t, "batch")
		var done [][2]int64
		had := int64(0)
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			e.drawWorld(t, true)
			share := e.share(t, done)
			count := e.share(t, nil).Batches()
			if share.Batches() != count-had {
				t.Fatalf("%d batches after %d of %d", share.Batches(), had, count)
			}
			for k := had; k < count; k++ {
				var got, want []place
				for rank := range e.world {
					got = append(got, e.batchOf(t, done, rank, k-had)...)
					want = append(want, e.batchOf(t, nil, rank, k)...)
				}
				if !slices.Equal(got, want) {
					t.Fatalf("world %d after %d batches: batch %d is %v, want %v", e.world, had, k, got, want)
				}
			}
			n := rapid.Int64Range(0, share.Batches()).Draw(t, "batches")
			frontiers := make([]order.Frontier, e.world)
			for rank := range e.world {
				for k := range n {
					frontiers[rank].Position += int64(len(e.batchOf(t, done, rank, k)))
				}
			}
			all, err := share.Finished(frontiers)
			if one := share.After(n); err != nil || !slices.Equal(all, one) || len(one) > 1 {
				t.Fatalf("after %d batches: all ranks say %v (%v), one says %v", n, all, err, one)
			}
			if had += n; had == count {
				return
			}
			done = all
		}
	})
}

// batchOf is a rank's batch of the share under test.
func (e *epoch) batchOf(t *rapid.T, done [][2]int64, rank int, k int64) (rows []place) {
	s := e.share(t, done)
	s.Rank = rank
	first := int64(0)
	for i := range k {
		first += int64(s.Rows(i))
	}
	for pos := first; pos < first+int64(s.Rows(k)); pos++ {
		at, wrapped := s.At(pos)
		rows = append(rows, place{at, wrapped})
	}
	return rows
}

// Ranks that are in step need one range, however far they are; the others as many as
// they differ in.
func TestFinishedIsBounded(t *testing.T) {
	s, err := order.Split{Samples: 1 << 50, Batch: 1 << 10, World: 8}.Over(nil)
	if err != nil {
		t.Fatal(err)
	}
	frontiers := make([]order.Frontier, 8)
	for r := range frontiers {
		frontiers[r] = order.Frontier{Position: 1<<40 + int64(r)*3*128, Ahead: [][2]int64{{1 << 42, 1<<42 + 1<<41}}}
	}
	done, err := s.Finished(frontiers)
	if err != nil || len(done) > 2+7*8*3 || done[0] != [2]int64{0, 1 << 43} && done[0][1] < 1<<43 {
		t.Errorf("%d ranges, the first %v (%v)", len(done), done[0], err)
	}
	frontiers[3].Position = 1 << 45
	if _, err := s.Finished(frontiers); !errors.Is(err, order.ErrApart) || !strings.Contains(err.Error(), "rank 3") {
		t.Errorf("far apart: %v", err)
	}
	at, _ := s.At(1<<40 + 5)
	later, err := order.Split{Samples: 1 << 50, Batch: 1 << 10, World: 8}.Over([][2]int64{{0, 1 << 43}})
	if got, _ := later.At(5); err != nil || got != at {
		t.Errorf("position 5 after the first part is place %d, want %d (%v)", got, at, err)
	}
}

func TestOverRefusesRangesThatCannotBe(t *testing.T) {
	for _, done := range [][][2]int64{{{-1, 2}}, {{3, 3}}, {{4, 2}}, {{0, 11}}, {{5, 7}, {6, 8}}, {{5, 7}, {0, 1}}} {
		if _, err := (order.Split{Samples: 10, Batch: 2, World: 1}).Over(done); err == nil || !strings.Contains(err.Error(), "finished range") {
			t.Errorf("%v: %v", done, err)
		}
	}
	s, err := order.Split{Samples: 10, Batch: 2, World: 2}.Over([][2]int64{{0, 2}, {2, 4}})
	if err != nil || s.Samples != 6 || s.Places() != 10 || len(s.Done()) != 2 {
		t.Errorf("ranges that touch: %+v, %v", s, err)
	}
	for _, f := range []order.Frontier{
		{Position: -1}, {Position: 4}, {Ahead: [][2]int64{{2, 4}}}, {Ahead: [][2]int64{{-1, 1}}}, {Ahead: [][2]int64{{2, 2}}}, {Lost: []int64{3}}, {Lost: []int64{-1}},
	} {
		if _, err := s.Finished([]order.Frontier{{}, f}); err == nil || !strings.Contains(err.Error(), "rank 1: ") {
			t.Errorf("%+v: %v", f, err)
		}
	}
	if _, err := s.Finished(make([]order.Frontier, 3)); err == nil {
		t.Error("frontiers of three ranks of two")
	}
}

func TestAnEpochOfNothing(t *testing.T) {
	s, err := order.Split{Batch: 2, World: 2}.Over(nil)
	if err != nil || s.Len() != 0 || s.Batches() != 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	if done, err := s.Finished(make([]order.Frontier, 2)); err != nil || done != nil || s.After(3) != nil {
		t.Errorf("%v, %v", done, err)
	}
}
