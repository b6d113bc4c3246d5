package main

import "context"

// channels is the same chain of nothing but goroutines and channels: no statistics, no
// failures, no state, no order but that of one worker a stage, and no end.
func channels(f form) <-chan int {
	numbers := make(chan int, f.ahead())
	go func() {
		for i := 0; ; i++ {
			numbers <- i
		}
	}()
	var in <-chan int = numbers
	for range f.stages {
		in = handOn(in, f.ahead())
	}
	return in
}

func handOn(in <-chan int, ahead int) <-chan int {
	out := make(chan int, ahead)
	go func() {
		for v := range in {
			v, err := same(context.Background(), v)
			if err != nil {
				return
			}
			out <- v
		}
	}()
	return out
}
