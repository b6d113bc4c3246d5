package pipe_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

func Example() {
	numbers := pipe.From("numbers", pipetest.Numbers{N: 10})
	words := pipe.Map(numbers, func(_ context.Context, n int) (string, error) {
		if n == 3 {
			return "", pipe.Skip
		}
		return strings.Repeat("x", n), nil
	}, pipe.Opts{Name: "words", Workers: 4, Ordered: true})
	batches := pipe.Batch(words, 4, pipe.BatchOpts{Name: "batch"})

	run, err := pipe.Start(context.Background(), batches, pipe.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer run.Close()
	for batch, err := range run.All() {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%q, position %d\n", batch, run.State().Sources["numbers"].Low)
	}
	// Output:
	// ["" "x" "xx" "xxxx"], position 5
	// ["xxxxx" "xxxxxx" "xxxxxxx" "xxxxxxxx"], position 9
	// ["xxxxxxxxx"], position 10
}
