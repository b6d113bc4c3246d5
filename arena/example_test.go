package arena_test

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/arena"
)

func Example() {
	a, err := arena.New(arena.Options{Slots: 2, SlotBytes: 4096})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close()
	slot, err := a.Reserve(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	copy(slot.Bytes(), "a batch")
	if err := slot.Seal(); err != nil { // nobody writes any more
		fmt.Println(err)
		return
	}
	if err := slot.Send(); err != nil { // a consumer in another process maps the segment, and learns which slot
		fmt.Println(err)
		return
	}
	fmt.Println("leased:", a.Stats().Leased)
	fmt.Println(a.Release(slot.Segment(), slot.Index())) // the consumer is done
	fmt.Println("leased:", a.Stats().Leased)
	// Output:
	// leased: 1
	// <nil>
	// leased: 0
}
