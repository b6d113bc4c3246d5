package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/pprof"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/sample"
)

// inHand has each goroutine say which sample it has in hand. A crash in C code ends the
// program, and nothing of it can speak any more but the Go runtime, which prints what
// every goroutine was doing, with what was said.
type inHand struct{}

func (inHand) Begin(_ int, _ sample.ID, key string) {
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("sample", key)))
	crashFor(key)
}

func (inHand) End(int) { pprof.SetGoroutineLabels(context.Background()) }

// nameCrashes has the last words name samples, and ends the program with a signal: its
// usual exit code would be that of wrong use.
func nameCrashes(o *headrace.Options) {
	os.Setenv("GODEBUG", os.Getenv("GODEBUG")+",tracebacklabels=1") // the runtime looks at once
	debug.SetTraceback("crash")
	o.InFlight = func() headrace.InFlight { return inHand{} }
}
