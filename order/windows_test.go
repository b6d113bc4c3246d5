package order_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/headrace/headrace/order"

	"pgregory.net/rapid"
)

type windowsRequest struct {
	What    string  `json:"what"`
	Starts  []int64 `json:"starts"`
	Samples int64   `json:"samples"`
	Window  int64   `json:"window"`
	Seed    uint64  `json:"seed"`
	Epoch   int     `json:"epoch"`
}

// runs are where the blocks of order.Runs begin.
func runs(samples, window int64) (starts []int64) {
	starts = []int64{}
	for i := int64(0); i < samples; i += order.Run(window) {
		starts = append(starts, i)
	}
	return starts
}

// cuts are where blocks of so many samples each begin.
func cuts(sizes []int64) (starts []int64, samples int64) {
	starts = []int64{}
	for _, n := range sizes {
		starts, samples = append(starts, samples), samples+n
	}
	return starts, samples
}

func whole(w *order.Windows) (all []int64) {
	all = []int64{}
	for i := range w.Len() {
		all = append(all, w.At(i))
	}
	return all
}

func TestWindowsMatchListsThatAreShuffled(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var requests []windowsRequest
	var blocks []order.Blocks
	for _, samples := range []int64{0, 1, 2, 63, 64, 65, 1000, 1500} {
		for _, window := range []int64{1, 64, 65, 640, 1 << 20} {
			requests = append(requests, windowsRequest{"windows", runs(samples, window), samples, window, rng.Uint64(), rng.IntN(9)})
			blocks = append(blocks, order.Runs(samples, window))
		}
	}
	for range 25 {
		sizes := make([]int64, rng.IntN(40))
		for i := range sizes {
			sizes[i] = 1 + rng.Int64N(300)
		}
		starts, samples := cuts(sizes)
		requests = append(requests, windowsRequest{"windows", starts, samples, 1 + rng.Int64N(900), rng.Uint64(), -rng.IntN(9)})
		blocks = append(blocks, order.BlocksAt(starts, samples))
	}
	for i, want := range reference[[]int64](t, requests) {
		r := requests[i]
		if got := whole(order.PermuteWindows(blocks[i], r.Window, r.Seed, r.Epoch)); !slices.Equal(got, want) {
			t.Fatalf("%+v:\ngot  %v\nwant %v", r, got, want)
		}
	}
}

// All samples come, each once, and a block is in one window alone, of which
// there is no larger one than it takes.
func TestWindowsArePermutationsOfNeighbours(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		sizes := rapid.SliceOfN(rapid.Int64Range(1, 90), 0, 40).Draw(r, "sizes")
		window := rapid.Int64Range(1, 3000).Draw(r, "window")
		starts, samples := cuts(sizes)
		blocks := order.BlocksAt(starts, samples)
		if rapid.Bool().Draw(r, "runs") {
			samples = rapid.Int64Range(0, 2500).Draw(r, "samples")
			starts, blocks = runs(samples, window), order.Runs(samples, window)
		}
		if blocks.Len() != int64(len(starts)) {
			r.Fatalf("%d blocks, want %d", blocks.Len(), len(starts))
		}

		w := order.PermuteWindows(blocks, window, rapid.Uint64().Draw(r, "seed"), rapid.Int().Draw(r, "epoch"))
		if w.Len() != samples {
			r.Fatalf("%d places of %d samples", w.Len(), samples)
		}
		seen := make([]bool, samples)
		places := map[int][2]int64{} // of a block: the first and the last
		for i := range samples {
			v := w.At(i)
			if v < 0 || v >= samples || seen[v] {
				r.Fatalf("place %d has %d, which is outside or there already", i, v)
			}
			seen[v] = true
			b, found := slices.BinarySearch(starts, v)
			if !found {
				b--
			}
			at, ok := places[b]
			if !ok {
				at[0] = i
			}
			places[b] = [2]int64{at[0], i}
		}
		most := int64(0)
		for i, from := range starts {
			most = max(most, append(starts[i+1:len(starts):len(starts)], samples)[0]-from)
		}
		for b, at := range places {
			if at[1]-at[0] >= window+most {
				r.Fatalf("block %d is from place %d to %d, with windows of %d and blocks of %d", b, at[0], at[1], window, most)
			}
		}
	})
}

// Over seeds, each sample is equally often at each place, whatever block it is in, and
// any two are in one window as often as any others of other blocks.
func TestWindowsAreChance(t *testing.T) {
	const samples, window, seeds = 48, 128, 3_000 // one window, of runs of 2
	counts := make([]int, samples*samples)
	for seed := range uint64(seeds) {
		w := order.PermuteWindows(order.Runs(samples, window), window, seed, 0)
		for i := range int64(samples) {
			counts[i*samples+w.At(i)]++
		}
	}
	if d := deviation(counts); d > chance || d < -chance {
		t.Errorf("places deviate by %.1f", d)
	}

	starts, n := cuts([]int64{5, 5, 5, 5, 5, 5, 5, 5})
	first := make([]int, 8) // which block the first sample is of
	for seed := range uint64(seeds) {
		first[order.PermuteWindows(order.BlocksAt(starts, n), 10, 7, int(seed)).At(0)/5]++
	}
	if d := deviation(first); d > chance || d < -chance {
		t.Errorf("first blocks deviate by %.1f: %v", d, first)
	}
}

func TestGoldenWindows(t *testing.T) {
	w := order.PermuteWindows(order.Runs(1_281_167, 65_536), 65_536, 42, 3)
	var got []int64
	for i := range int64(6) {
		got = append(got, w.At(200_000*i))
	}
	if want := []int64{965517, 1115405, 193059, 569505, 771339, 701603}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v: a change takes another order.Version", got, want)
	}
}

func TestWindowsOfPlacesOutsidePanic(t *testing.T) {
	w := order.PermuteWindows(order.Runs(10, 5), 5, 0, 0)
	for _, at := range []int64{-1, 10} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("At(%d) did not panic", at)
				}
			}()
			w.At(at)
		}()
	}
}

func BenchmarkWindows(b *testing.B) {
	const samples, window = 10_000_000, 65_536
	b.Run("epoch", func(b *testing.B) {
		for b.Loop() {
			order.PermuteWindows(order.Runs(samples, window), window, 1, b.N)
		}
	})
	w := order.PermuteWindows(order.Runs(samples, window), window, 1, 1)
	b.Run("at", func(b *testing.B) {
		for i := int64(0); b.Loop(); i++ {
			w.At(i % samples)
		}
	})
}
