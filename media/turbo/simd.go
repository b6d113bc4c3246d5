//go:build cgo

package turbo

// #include "kernels.h"
import "C"

import (
	"os"
	"sync/atomic"
)

// chosen is the set of kernels in use.
var chosen atomic.Pointer[C.hr_kernels]

func init() { chosen.Store(choose(os.Getenv("HEADRACE_SIMD"))) }

// choose returns the best set that this CPU can run, but none beyond the one that
// limit names.
func choose(limit string) *C.hr_kernels {
	best := C.hr_kernel_set(0)
	for i := range C.hr_kernel_sets() {
		k := C.hr_kernel_set(i)
		if k == nil {
			continue
		}
		best = k
		if C.GoString(k.name) == limit {
			break
		}
	}
	return best
}

func level() *C.hr_kernels { return chosen.Load() }

func levelName() string { return C.GoString(level().name) }

// levels are the names of the sets that this CPU can run.
func levels() []string {
	var names []string
	for i := range C.hr_kernel_sets() {
		if k := C.hr_kernel_set(i); k != nil {
			names = append(names, C.GoString(k.name))
		}
	}
	return names
}

// setLevel makes the named set the one in use, and returns a function that undoes it.
func setLevel(name string) (undo func()) {
	before := chosen.Swap(choose(name))
	return func() { chosen.Store(before) }
}
