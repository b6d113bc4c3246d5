package order_test

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/order"
)

// placesOf are places below n as they are asked for: neighbours, as a rank or a slice has
// them, or anyhow.
func placesOf(r *rapid.T, n int64) []int64 {
	all := make([]int64, rapid.IntRange(0, 400).Draw(r, "places"))
	from := rapid.Int64Range(0, n-1).Draw(r, "from")
	step := rapid.SampledFrom([]int64{1, 1, 1, 8, 1000}).Draw(r, "step")
	anyhow := rapid.IntRange(0, 4).Draw(r, "kind") == 0
	for i := range all {
		all[i] = from
		if anyhow {
			from = rapid.Int64Range(0, n-1).Draw(r, "place")
		} else {
			from = int64((uint64(from) + uint64(step)) % uint64(n))
		}
	}
	return all
}

// checkEach holds Each against At.
func checkEach(r *rapid.T, s order.Sequence, places []int64) (got []int64) {
	got = slices.Clone(places)
	s.Each(got)
	for i, place := range places {
		if want := s.At(place); got[i] != want {
			r.Fatalf("place %d of %T: Each has %d, At %d", place, s, got[i], want)
		}
	}
	return got
}

func TestEachIsAtForPermutations(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.OneOf(rapid.Int64Range(1, 2000), rapid.Int64Range(1, 1<<40),
			rapid.SampledFrom([]int64{256, 257, 65536, 1 << 32, 1<<32 + 1, math.MaxInt64})).Draw(r, "n")
		p := order.Permute(n, rapid.Uint64().Draw(r, "seed"), rapid.Int().Draw(r, "epoch"))
		fast := p.Tabulated()
		places := placesOf(r, n)
		got := checkEach(r, &fast, places)
		for i, place := range places {
			if got[i] != p.At(place) || fast.Inverse(got[i]) != place {
				r.Fatalf("n %d, place %d: tabulated %d, otherwise %d", n, place, got[i], p.At(place))
			}
		}
		checkEach(r, &p, places)
	})
}

func TestEachIsAtForWindows(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		sizes := rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(1, 90), rapid.Just(int64(1)), rapid.Just(int64(3000))), 1, 60).Draw(r, "sizes")
		starts, samples := cuts(sizes)
		window, blocks := rapid.Int64Range(1, 3000).Draw(r, "window"), order.BlocksAt(starts, samples)
		if rapid.Bool().Draw(r, "runs") {
			blocks = order.Runs(samples, window)
		}
		seed, epoch := rapid.Uint64().Draw(r, "seed"), rapid.Int().Draw(r, "epoch")
		w, fresh := order.PermuteWindows(blocks, window, seed, epoch), order.PermuteWindows(blocks, window, seed, epoch)
		for range 3 {
			places := placesOf(r, samples)
			got := checkEach(r, w, places)
			for i, place := range places {
				if want := fresh.At(place); got[i] != want { // fresh has never made a window
					r.Fatalf("place %d is %d, want %d", place, got[i], want)
				}
			}
		}
	})
}

func TestEachIsAtForOthers(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		numbers := order.Numbers(rapid.SliceOfN(rapid.Int64(), 1, 300).Draw(r, "numbers"))
		is := rapid.SliceOfN(rapid.Bool(), 1, 900).Draw(r, "members")
		is[0] = true
		members := order.MembersOf(int64(len(is)), func(i int64) bool { return is[i] })
		some := order.Slice{First: rapid.Int64Range(0, 9).Draw(r, "first"), Step: rapid.Int64Range(1, 9).Draw(r, "by"), Count: 500}
		checkEach(r, numbers, placesOf(r, int64(len(numbers))))
		checkEach(r, order.Function(func(place int64) int64 { return -place }), placesOf(r, 99))
		checkEach(r, members, placesOf(r, members.Len()))
		checkEach(r, some, placesOf(r, some.Len()))
	})
}

func TestRunsOfShares(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		world := rapid.IntRange(1, 9).Draw(r, "world")
		s := order.Split{Samples: rapid.Int64Range(1, 900).Draw(r, "samples"), World: world,
			Batch: rapid.Int64Range(int64(world), 99).Draw(r, "batch"), Rank: rapid.IntRange(0, world-1).Draw(r, "rank"),
			DropLast: rapid.Bool().Draw(r, "drop"), Uneven: rapid.Bool().Draw(r, "uneven")}
		var done [][2]int64
		for at := int64(0); rapid.Bool().Draw(r, "more"); {
			from := at + rapid.Int64Range(0, 40).Draw(r, "left")
			at = from + rapid.Int64Range(1, 90).Draw(r, "done")
			if at >= s.Samples {
				break
			}
			done = append(done, [2]int64{from, at})
		}
		share, err := s.Over(done)
		if err != nil {
			r.Fatal(err)
		}
		if share.Len() == 0 {
			return
		}
		pos := rapid.Int64Range(0, share.Len()-1).Draw(r, "pos")
		places := make([]int64, rapid.Int64Range(0, share.Len()-pos).Draw(r, "n"))
		share.Run(places, pos)
		for i, got := range places {
			if want, _ := share.At(pos + int64(i)); got != want {
				r.Fatalf("%+v without %v: position %d is %d, want %d", s, done, pos+int64(i), got, want)
			}
		}
	})
}

func TestEachRefusesPlacesOutside(t *testing.T) {
	p := order.Permute(1000, 0, 0)
	fast := p.Tabulated()
	w := order.PermuteWindows(order.Runs(1000, 100), 100, 0, 0)
	for name, s := range map[string]order.Sequence{"arithmetic": &p, "tables": &fast, "windows": w} {
		for _, place := range []int64{-1, 1000, math.MaxInt64, math.MinInt64} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s: place %d did not panic", name, place)
					}
				}()
				s.Each([]int64{1, 2, place})
			}()
		}
	}
}

// Lanes ask for places of different windows at once.
func TestWindowsAreAskedByManyAtOnce(t *testing.T) {
	w := order.PermuteWindows(order.Runs(20_000, 500), 500, 1, 2)
	want := whole(order.PermuteWindows(order.Runs(20_000, 500), 500, 1, 2))
	var all sync.WaitGroup
	for lane := range 4 {
		all.Go(func() {
			for from := lane * 1500; from+300 <= 20_000; from += 250 {
				places := make([]int64, 300)
				for i := range places {
					places[i] = int64(from + i)
				}
				if w.Each(places); !slices.Equal(places, want[from:from+300]) {
					t.Errorf("other samples from place %d on", from)
					return
				}
			}
		})
	}
	all.Wait()
}

func TestEachAllocatesNothing(t *testing.T) {
	fast := order.Permute(1_000_000, 1, 0).Tabulated()
	w := order.PermuteWindows(order.Runs(100_000, 10_000), 10_000, 1, 0)
	share, err := order.Split{Samples: 1_000_000, Batch: 8, World: 4, Rank: 1}.Over([][2]int64{{0, 80}, {99, 107}})
	if err != nil {
		t.Fatal(err)
	}
	places := make([]int64, 300)
	if n := testing.AllocsPerRun(100, func() {
		share.Run(places, 10)
		fast.Each(places)
		share.Run(places, 10)
		w.Each(places)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// What a place costs, alone and among others.
func BenchmarkPlaces(b *testing.B) {
	const blocks = 1000
	for _, n := range []int64{1000, 1_281_167, 1e9, 1 << 40} {
		p := order.Permute(n, 1, 1)
		fast := p.Tabulated()
		w := order.PermuteWindows(order.Runs(min(n, 1e7), 100_000), 100_000, 1, 1)
		for name, s := range map[string]order.Sequence{"all": &fast, "windows": w} {
			b.Run(fmt.Sprintf("%s/%d/At", name, n), func(b *testing.B) {
				for i := range b.N {
					s.At(int64(i) % min(n, 1e7))
				}
			})
			b.Run(fmt.Sprintf("%s/%d/Each", name, n), func(b *testing.B) {
				places := make([]int64, blocks)
				for i := 0; i < b.N; i += blocks {
					from := int64(i) % (min(n, 1e7) - blocks + 1)
					for k := range places {
						places[k] = from + int64(k)
					}
					s.Each(places)
				}
			})
		}
	}
}
