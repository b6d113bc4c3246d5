package order_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/order"
)

// weightsOfMix are numbers as people write them, and as they do not.
func weightsOfMix(t *rapid.T) []float64 {
	n := rapid.IntRange(1, 40).Draw(t, "sources")
	all := make([]float64, n)
	for i := range all {
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			all[i] = rapid.Float64Range(0, 1).Draw(t, "weight")
		case 1:
			all[i] = float64(rapid.IntRange(0, 9).Draw(t, "weight"))
		case 2:
			all[i] = math.Pow(2, rapid.Float64Range(-30, 10).Draw(t, "power"))
		case 3:
			all[i] = 1
		}
	}
	if !slices.ContainsFunc(all, func(w float64) bool { return w > 0 }) {
		all[0] = 1
	}
	return all
}

// Where a block begins, each source has had as many draws as its share, within MixWithin;
// draws of a source have no gaps; and the inverse finds each. Held against counting.
func TestMixesKeepTheirWeights(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := weightsOfMix(t)
		turns := rapid.Int64Range(1, 400).Draw(t, "turns")
		seed := rapid.Uint64().Draw(t, "seed")
		m := order.NewMix(turns, seed, order.Stretch{Shares: order.Shares(weights)})
		sum := 0.0
		for _, w := range weights {
			sum += w
		}
		counts, lowest, seen := make([]int64, len(weights)), make([]int64, len(weights)), make([]map[int64]bool, len(weights))
		for i := range seen {
			seen[i] = map[int64]bool{}
		}
		for epoch := range 3 {
			if got := m.Before(epoch); !slices.Equal(got, counts) {
				t.Fatalf("before epoch %d there were %v, not %v", epoch, counts, got)
			}
			at := m.Epoch(epoch)
			for place := range turns {
				if past := int64(epoch)*turns + place; place%order.MixBlock == 0 {
					for i, w := range weights {
						if asked := w / sum * float64(past); math.Abs(float64(counts[i])-asked) > order.MixWithin {
							t.Fatalf("source %d has %d of %d turns, and should have %v", i, counts[i], past, asked)
						}
						for ; lowest[i] < counts[i]; lowest[i]++ {
							if !seen[i][lowest[i]] {
								t.Fatalf("source %d lacks draw %d of %d", i, lowest[i], counts[i])
							}
						}
					}
				}
				i, draw := at(place)
				if weights[i] == 0 || seen[i][draw] {
					t.Fatalf("turn %d is draw %d of source %d", place, draw, i)
				}
				seen[i][draw] = true
				counts[i]++
				if e, p := m.Place(i, draw); place%7 == 0 && (e != epoch || p != place) {
					t.Fatalf("draw %d of source %d is at %d of epoch %d, found at %d of %d", draw, i, place, epoch, p, e)
				}
			}
		}
	})
}

// Shares that are numbers of draws are had exactly, in each epoch.
func TestMixesHaveNumbersOfDrawsExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shares := rapid.SliceOfN(rapid.Uint64Range(0, 200), 1, 20).Draw(t, "shares")
		shares[0]++
		turns := int64(0)
		for _, s := range shares {
			turns += int64(s)
		}
		m := order.NewMix(turns, 1, order.Stretch{Shares: shares})
		for epoch := range 4 {
			for i, n := range m.Before(epoch) {
				if want := int64(epoch) * int64(shares[i]); n != want {
					t.Fatalf("source %d had %d draws before epoch %d, want %d", i, n, epoch, want)
				}
			}
		}
	})
}

// Under a schedule, counts are those of all stretches so far together.
func TestMixesFollowSchedules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "sources")
		stretches := []order.Stretch{}
		parts := [][]float64{}
		from := int64(0)
		for range rapid.IntRange(1, 6).Draw(t, "stretches") {
			weights := make([]float64, n)
			for i := range weights {
				weights[i] = float64(rapid.IntRange(0, 20).Draw(t, "weight"))
			}
			weights[rapid.IntRange(0, n-1).Draw(t, "some")]++
			sum := 0.0
			for _, w := range weights {
				sum += w
			}
			for i := range weights {
				weights[i] /= sum
			}
			stretches = append(stretches, order.Stretch{From: from, Shares: order.Shares(weights)})
			parts = append(parts, weights)
			from += rapid.Int64Range(1, 150).Draw(t, "length")
		}
		turns := rapid.Int64Range(1, 200).Draw(t, "turns")
		m := order.NewMix(turns, 3, stretches...)
		asked, counts, at := make([]float64, n), make([]int64, n), m.Epoch(0)
		for past, stretch := int64(0), 0; past < from+200; past++ {
			if stretch+1 < len(stretches) && stretches[stretch+1].From == past {
				stretch++
			}
			if place := past % turns; place == 0 && !slices.Equal(m.Before(int(past/turns)), counts) {
				t.Fatalf("before epoch %d there were %v, not %v", past/turns, counts, m.Before(int(past/turns)))
			}
			if past%turns%order.MixBlock == 0 {
				for i := range asked {
					if math.Abs(float64(counts[i])-asked[i]) > order.MixWithin {
						t.Fatalf("source %d has %d of %d turns, and should have %v", i, counts[i], past, asked[i])
					}
				}
			}
			if past%turns == 0 {
				at = m.Epoch(int(past / turns))
			}
			i, draw := at(past % turns)
			counts[i]++
			if e, p := m.Place(i, draw); past%7 == 0 && int64(e)*turns+p != past {
				t.Fatalf("draw %d of source %d is turn %d, found at %d of epoch %d", draw, i, past, p, e)
			}
			for i, part := range parts[stretch] {
				asked[i] += part
			}
		}
	})
}

// A source with a share of 0 has no turns, whatever stretches before owe it.
func TestMixesSkipSharesOfZero(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 6).Draw(t, "sources")
		stretches, lengths := []order.Stretch{}, []int64{}
		from := int64(0)
		for range rapid.IntRange(2, 6).Draw(t, "stretches") {
			shares := rapid.SliceOfN(rapid.Uint64Range(0, 3), n, n).Draw(t, "shares")
			shares[rapid.IntRange(0, n-1).Draw(t, "some")]++
			stretches = append(stretches, order.Stretch{From: from, Shares: shares})
			lengths = append(lengths, rapid.Int64Range(64, 130).Draw(t, "length"))
			from += lengths[len(lengths)-1]
		}
		// In blocks of a turn each, turns are in the order of stretches.
		m := order.NewMix(1, 3, stretches...)
		for i, s := range stretches {
			for turn := s.From; turn < s.From+lengths[i]; turn++ {
				if source, _ := m.Epoch(int(turn))(0); s.Shares[source] == 0 {
					t.Fatalf("turn %d, of stretch %d, is of source %d: shares are %v", turn, i, source, s.Shares)
				}
			}
		}
	})
}

// Within blocks, no place is nearer to a source than another, and no two neighbours are:
// chi-square over blocks and seeds.
func TestMixesShowNoPattern(t *testing.T) {
	const blocks = 4000
	at, pairs := make([]float64, order.MixBlock), 0.0
	for seed := range uint64(4) {
		m := order.NewMix(order.MixBlock*blocks/4, seed, order.Stretch{Shares: []uint64{1, 3}})
		turn := m.Epoch(0)
		for b := range int64(blocks / 4) {
			before := 1
			for i := range int64(order.MixBlock) {
				source, _ := turn(b*order.MixBlock + i)
				if source == 0 {
					at[i]++
				}
				if source == 0 && before == 0 && i > 0 {
					pairs++
				}
				before = source
			}
		}
	}
	chi := 0.0
	for _, n := range at {
		const want = blocks / 4.0
		chi += (n - want) * (n - want) / (want * 3 / 4)
	}
	if chi > 63+4*math.Sqrt(2*63) {
		t.Errorf("places of blocks: chi-square is %.1f with 63 degrees of freedom", chi)
	}
	// 16 of 64 are of the source, so a neighbour is with 15 of 63.
	want := blocks * 63 * (16.0 / 64) * (15.0 / 63)
	if math.Abs(pairs-want) > 5*math.Sqrt(want) {
		t.Errorf("%v neighbours are of one source, want about %v", pairs, want)
	}
}

// Golden vectors: saved states rely on them.
func TestGoldenVectorsOfMixes(t *testing.T) {
	type turn struct {
		source int
		draw   int64
	}
	for _, c := range []struct {
		name  string
		m     *order.Mix
		epoch int
		want  []turn
	}{
		{"two", order.NewMix(1000, 1, order.Stretch{Shares: order.Shares([]float64{0.7, 0.3})}), 2,
			[]turn{{0, 1415}, {0, 1423}, {1, 610}, {0, 1403}, {1, 606}, {0, 1433}, {1, 605}, {0, 1431}}},
		{"counts", order.NewMix(10, 7, order.Stretch{Shares: []uint64{5, 3, 2}}), 0,
			[]turn{{0, 3}, {0, 1}, {2, 1}, {0, 0}, {1, 2}, {0, 2}, {0, 4}, {1, 0}}},
		{"schedule", order.NewMix(256, 7, order.Stretch{Shares: []uint64{1, 0}}, order.Stretch{From: 100, Shares: []uint64{1, 1}}), 1,
			[]turn{{0, 187}, {0, 202}, {1, 97}, {0, 180}, {1, 102}, {0, 189}, {0, 206}, {0, 203}}},
	} {
		at := c.m.Epoch(c.epoch)
		var got []turn
		for i := range int64(8) {
			s, d := at(i)
			got = append(got, turn{s, d})
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s begins %v, want %v", c.name, got, c.want)
		}
	}
}

// Epochs beyond all numbers, and before the first, are epochs, too.
func TestMixesOfAnyEpoch(t *testing.T) {
	m := order.NewMix(1<<48, 1, order.Stretch{Shares: []uint64{1 << 47, 1 << 47}})
	for _, epoch := range []int{-1, 1 << 12, 1 << 53, math.MaxInt, math.MinInt} {
		if _, draw := m.Epoch(epoch)(1<<48 - 1); draw < 0 {
			t.Errorf("epoch %d has draw %d", epoch, draw)
		}
	}
}

func BenchmarkMixOf100(b *testing.B) {
	weights := make([]float64, 100)
	for i := range weights {
		weights[i] = 1 / float64(i+1)
	}
	m := order.NewMix(1<<40, 1, order.Stretch{Shares: order.Shares(weights)})
	at := m.Epoch(0)
	for place := int64(0); b.Loop(); place++ {
		at(place)
	}
}
