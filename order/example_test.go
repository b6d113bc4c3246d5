package order_test

import (
	"fmt"

	"github.com/headrace/headrace/order"
)

// The second batch of each of two ranks, in the third epoch.
func Example() {
	const samples, seed, epoch = 1000, 42, 2
	shuffled := order.Permute(samples, seed, epoch)
	for rank := range 2 {
		s := order.Split{Samples: samples, Batch: 8, World: 2, Rank: rank}
		if err := s.Check(); err != nil {
			fmt.Println(err)
			return
		}
		for pos := s.BatchSize(); pos < 2*s.BatchSize(); pos++ {
			place, _ := s.At(int64(pos))
			index := shuffled.At(place)
			flip := order.NewKey(seed, epoch, order.SourceID("files"), index).Float64(order.OpID("random_flip"), 0) < 0.5
			fmt.Printf("rank %d, place %d: sample %d, flip %v\n", rank, place, index, flip)
		}
	}
	// Output:
	// rank 0, place 8: sample 999, flip false
	// rank 0, place 9: sample 564, flip true
	// rank 0, place 10: sample 155, flip false
	// rank 0, place 11: sample 893, flip false
	// rank 1, place 12: sample 294, flip true
	// rank 1, place 13: sample 130, flip false
	// rank 1, place 14: sample 151, flip false
	// rank 1, place 15: sample 272, flip false
}

// When samples of a block are needed: a cache that lets go of what is used last loses the
// least.
func ExampleNextUse() {
	w := order.PermuteWindows(order.Runs(1000, 128), 128, 42, 0)
	for lo := int64(0); lo < 6; lo += 2 { // blocks of two
		first, _ := order.NextUse(w, lo, lo+2, 0)
		second, _ := order.NextUse(w, lo, lo+2, first+1)
		_, again := order.NextUse(w, lo, lo+2, second+1)
		fmt.Println(lo, first, second, again)
	}
	// Output:
	// 0 778 860 false
	// 2 785 869 false
	// 4 259 373 false
}
