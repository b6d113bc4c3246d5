package pipetest

import (
	"fmt"
	"sync"
)

// An Owner knows who has which items. Anyone who makes an item calls Made, whoever ends
// it calls Gone, and in the end nothing may be left: an item that is neither handed on
// nor disposed of is a leak, one that ends twice is worse.
type Owner[T comparable] struct {
	mu     sync.Mutex
	held   map[T]int
	faults []string
}

// Made counts an item in.
func (o *Owner[T]) Made(v T) T {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.held == nil {
		o.held = make(map[T]int)
	}
	o.held[v]++
	return v
}

// Gone counts an item out.
func (o *Owner[T]) Gone(v T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.held[v] == 0 {
		o.faults = append(o.faults, fmt.Sprintf("%v ended, but was not held", v))
		return
	}
	o.held[v]--
	if o.held[v] == 0 {
		delete(o.held, v)
	}
}

// Held is how many items are there now.
func (o *Owner[T]) Held() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	for _, k := range o.held {
		n += k
	}
	return n
}

// Faults lists what went wrong, leaks included.
func (o *Owner[T]) Faults() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := append([]string(nil), o.faults...)
	for v, n := range o.held {
		all = append(all, fmt.Sprintf("%v is still held %d times", v, n))
	}
	return all
}
