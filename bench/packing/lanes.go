package main

import (
	"context"
	"encoding/json"
	"os"
	"time"

	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/pipe"
)

// inLanes packs each lane's share: sequence i is of lane i modulo their number. The rows
// that lanes end with are counted, too.
func inLanes(ctx context.Context, all sequences, lanes int, o group.PackOpts) error {
	rows, tokens := 0, 0
	begun := time.Now()
	for lane := range lanes {
		mine := sequences{tokens: all.tokens}
		for i := lane; i < len(all.lengths); i += lanes {
			mine.lengths = append(mine.lengths, all.lengths[i])
		}
		n, sum, err := packed(ctx, mine, o)
		if err != nil {
			return err
		}
		rows, tokens = rows+n, tokens+sum
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"rows": rows, "tokens": tokens, "seconds": time.Since(begun).Seconds()})
}

// packed returns how many rows sequences came into, and how many tokens are in these.
func packed(ctx context.Context, s sequences, o group.PackOpts) (rows, tokens int, err error) {
	begin, err := group.Pack(func(tokens []int32) int { return len(tokens) }, o)
	if err != nil {
		return 0, 0, err
	}
	run, err := pipe.Start(ctx, pipe.Aggregate(pipe.From("sequences", s), begin, pipe.AggregateOpts{Name: "pack"}), pipe.Config{})
	if err != nil {
		return 0, 0, err
	}
	defer run.Close()
	for r, err := range run.All() {
		if err != nil {
			return 0, 0, err
		}
		rows, tokens = rows+1, tokens+r.Length
	}
	return rows, tokens, nil
}
