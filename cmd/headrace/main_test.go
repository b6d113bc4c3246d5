package main

import (
	"runtime"
	"testing"
)

// There is always a CPU for Go's own code while decoders are in C, unless
// somebody has said how many there are to be.
func TestProcessors(t *testing.T) {
	t.Setenv("GOMAXPROCS", "")
	here := runtime.GOMAXPROCS(0)
	if n := processors(); n != 2*here {
		t.Errorf("%d processors of Go's for %d cores", n, here)
	}
	t.Setenv("GOMAXPROCS", "3")
	if n := processors(); n != here {
		t.Errorf("%d processors, where the environment has said something and there are %d", n, here)
	}
}
