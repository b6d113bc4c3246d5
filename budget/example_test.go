package budget_test

import (
	"context"
	"fmt"
	"time"

	"github.com/headrace/headrace/budget"
)

func Example() {
	b := budget.New(1000)
	first, err := b.Acquire(context.Background(), 1, "read", 800)
	if err != nil {
		fmt.Println(err)
		return
	}
	// What does not fit waits for what is held, here until somebody gives up.
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err = b.Acquire(ctx, 2, "read", 300)
	fmt.Println(err)

	first.Resize(500) // it turned out to be less
	second, err := b.Acquire(context.Background(), 2, "read", 300)
	fmt.Println(b.Used(), err)
	first.Release()
	second.Release()
	fmt.Println(b.Used())
	// Output:
	// context deadline exceeded
	// 800 <nil>
	// 0
}
