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
