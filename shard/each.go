package shard

import (
	"context"
	"runtime"
	"sync"
)

// each calls a function for each of n, several at once, and stops at the first error.
func each(ctx context.Context, n, jobs, atOnce int, do func(i int) error) error {
	if jobs <= 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var all sync.WaitGroup
	for range min(jobs, (n+atOnce-1)/atOnce) {
		all.Go(func() {
			for i := range next {
				for k := i; k < min(i+atOnce, n) && ctx.Err() == nil; k++ {
					if err := do(k); err != nil {
						cancel(err)
					}
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i += atOnce {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	all.Wait()
	return context.Cause(ctx)
}
