package shared

import "sync"

// common is the heap of all who share workers.
var common struct {
	sync.Mutex
	heap *Heap
}

// Common returns the heap of all loaders that share workers. A process maps one heap, so
// they cannot have one each. Close it as often as it was returned.
func Common() (*Heap, error) {
	common.Lock()
	defer common.Unlock()
	if common.heap != nil && common.heap.join() {
		return common.heap, nil
	}
	h, err := NewHeap()
	if err == nil {
		common.heap = h
	}
	return h, err
}
