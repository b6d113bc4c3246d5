package stats_test

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
	"github.com/headrace/headrace/stats"
)

func Example() {
	numbers := pipe.From("numbers", pipetest.Numbers{N: 100})
	doubled := pipe.Map(numbers, func(_ context.Context, n int) (int, error) { return 2 * n, nil }, pipe.Opts{Name: "double"})
	run, err := pipe.Start(context.Background(), doubled, pipe.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer run.Close()
	for _, err := range run.All() {
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	report := stats.Report(stats.Snapshot{Stats: run.Stats()}) // stats.Text is the same as a table, for people
	for _, stage := range report.Stages {
		fmt.Println(stage.Name, stage.Out)
	}
	// Output:
	// numbers 100
	// double 100
}
