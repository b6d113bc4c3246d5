package av

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A GOP of the kind that encoders make: displayed order against decoded order, some with
// leading frames.
func anyTable() *rapid.Generator[*Table] {
	return rapid.Custom(func(t *rapid.T) *Table {
		var packets []Packet
		shown := int64(rapid.IntRange(-5, 5).Draw(t, "origin"))
		for range rapid.IntRange(1, 8).Draw(t, "groups") {
			// A key frame, after some frames that lead it.
			lead := int64(rapid.IntRange(0, 3).Draw(t, "lead"))
			packets = append(packets, Packet{PTS: shown + lead, Key: rapid.IntRange(0, 9).Draw(t, "key") > 0})
			for i := range lead {
				packets = append(packets, Packet{PTS: shown + i})
			}
			shown += lead + 1
			for range rapid.IntRange(0, 3).Draw(t, "minis") {
				b := int64(rapid.IntRange(0, 3).Draw(t, "b"))
				packets = append(packets, Packet{PTS: shown + b})
				for i := range b {
					packets = append(packets, Packet{PTS: shown + i})
				}
				shown += b + 1
			}
		}
		for i := range packets {
			packets[i].Offset, packets[i].Size, packets[i].Duration = int64(i*10), 10, 1
			packets[i].Discard = i < 4 && rapid.Bool().Draw(t, "discard")
		}
		table, err := NewTable(Stream{TimeBase: Rational{1, 25}}, packets)
		if err != nil {
			t.Fatal(err)
		}
		return table
	})
}

func TestRunsHaveWhatIsWanted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := anyTable().Draw(t, "table")
		n := len(table.Frames)
		if n == 0 {
			return
		}
		wanted := rapid.SliceOfN(rapid.IntRange(0, n-1), 0, 12).Draw(t, "wanted")
		runs := table.Runs(wanted)

		var had []int
		end := -1
		for _, r := range runs {
			if r.First <= end {
				t.Fatalf("runs overlap: %+v", runs)
			}
			end = r.Last
			if r.First != 0 && !table.Packets[r.First].Key {
				t.Fatalf("run %+v begins without a key packet", r)
			}
			if !slices.IsSorted(r.Frames) {
				t.Fatalf("frames %v", r.Frames)
			}
			last := 0
			for _, f := range r.Frames {
				at := int(table.Frames[f])
				last = max(last, at)
				checkStart(t, table, r, at)
			}
			if last != r.Last {
				t.Fatalf("run %+v ends after the last packet that is needed, %d", r, last)
			}
			had = append(had, r.Frames...)
		}
		slices.Sort(had)
		slices.Sort(wanted)
		if !slices.Equal(had, slices.Compact(wanted)) {
			t.Fatalf("runs have the frames %v, want %v", had, wanted)
		}
	})
}

// A packet's run has its key packet, and one more where the frame is displayed before
// that one.
func checkStart(t *rapid.T, table *Table, r Run, at int) {
	keys := 0
	var nearest *Packet
	for i := at; i >= r.First; i-- {
		if table.Packets[i].Key {
			keys++
			if nearest == nil {
				nearest = &table.Packets[i]
			}
		}
	}
	need := 1
	if nearest != nil && table.Packets[at].PTS < nearest.PTS {
		need = 2
	}
	if keys < need && r.First > 0 && !table.cut {
		t.Fatalf("run %+v has %d key packets up to packet %d, which needs %d", r, keys, at, need)
	}
}

func TestRunsAreNoLongerThanTheyMust(t *testing.T) {
	// Decoded I P B | I B P, where the second group's B leads its I.
	table, err := NewTable(Stream{TimeBase: Rational{1, 25}}, []Packet{
		{PTS: 0, Key: true}, {PTS: 2}, {PTS: 1}, {PTS: 4, Key: true}, {PTS: 3}, {PTS: 5}, {PTS: 6, Key: true}, {PTS: 7},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []struct {
		frames []int
		want   []Run
	}{
		{[]int{1}, []Run{{0, 2, []int{1}}}},
		{[]int{2}, []Run{{0, 1, []int{2}}}},
		{[]int{3}, []Run{{0, 4, []int{3}}}},
		{[]int{5, 4, 5}, []Run{{3, 5, []int{4, 5}}}},
		{[]int{7, 0}, []Run{{0, 0, []int{0}}, {6, 7, []int{7}}}},
		{[]int{0, 5, 6}, []Run{{0, 0, []int{0}}, {3, 5, []int{5}}, {6, 6, []int{6}}}},
		{nil, []Run{}},
	} {
		got := table.Runs(of.frames)
		if !slices.EqualFunc(got, of.want, func(a, b Run) bool {
			return a.First == b.First && a.Last == b.Last && slices.Equal(a.Frames, b.Frames)
		}) {
			t.Errorf("frames %v: %+v, want %+v", of.frames, got, of.want)
		}
	}

	r := table.Runs([]int{7})[0]
	for _, want := range []int{3, 0} {
		wider, ok := table.Widen(r)
		if !ok || wider.First != want || wider.Last != r.Last {
			t.Errorf("%+v widens to %+v, want one that begins with %d", r, wider, want)
		}
		r = wider
	}
	if _, ok := table.Widen(r); ok {
		t.Error("a run from the first packet on can be widened")
	}
}

func TestReorderEqualsBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := anyTable().Draw(t, "table")
		want := 0
		for i, p := range table.Packets {
			held := 0
			for _, earlier := range table.Packets[:i] {
				if earlier.PTS > p.PTS {
					held++
				}
			}
			want = max(want, held)
		}
		if table.Reorder != want {
			t.Fatalf("%d frames are held back, want %d", table.Reorder, want)
		}
	})
}

// Packets may come in any order, and have the same time: they are displayed by time, and
// those of one time as they are decoded.
func TestAnyOrderIsDisplayedByTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.SliceOfN(rapid.Int64Range(0, 200), 1, 300).Draw(t, "times")
		if rapid.Bool().Draw(t, "backwards") {
			slices.Sort(times)
			slices.Reverse(times)
		}
		packets := make([]Packet, len(times))
		for i, at := range times {
			packets[i].PTS = at
		}
		table, err := NewTable(Stream{TimeBase: Rational{1, 25}}, packets)
		if err != nil {
			t.Fatal(err)
		}
		for i := 1; i < len(table.Frames); i++ {
			a, b := table.Frames[i-1], table.Frames[i]
			if times[a] > times[b] || times[a] == times[b] && a > b {
				t.Fatalf("frame %d is packet %d of %d, frame %d is packet %d of %d", i-1, a, times[a], i, b, times[b])
			}
		}
	})
}

func TestTablesNumberWhatIsDisplayed(t *testing.T) {
	table, err := NewTable(Stream{TimeBase: Rational{1, 10}}, []Packet{
		{PTS: -2, Key: true, Discard: true}, {PTS: 3, Duration: 4, Size: 5}, {PTS: 1}, {PTS: -1, Discard: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(table.Frames, []int32{2, 1}) || table.Origin != 1 || table.Reorder != 2 {
		t.Errorf("%+v", table)
	}
	if l := table.Line; !slices.Equal(l.Start, []int64{0, 2}) || l.End != 6 || l.FPS() != 2/0.6 {
		t.Errorf("%+v", l)
	}
	if err := table.CheckWithin(0, 3, 5); err != nil {
		t.Error(err)
	}
	if err := table.CheckWithin(0, 3, 4); !errors.Is(err, ErrTruncated) {
		t.Error(err)
	}
	for _, packets := range [][]Packet{{{PTS: -1 << 63}}, {{PTS: 1 << 62}}} {
		if _, err := NewTable(Stream{TimeBase: Rational{1, 10}}, packets); err == nil {
			t.Errorf("%+v is not refused", packets)
		}
	}
	if _, err := NewTable(Stream{}, nil); err == nil {
		t.Error("a time base of 0/0 is not refused")
	}
}
