// Command items measures what the engine costs for items on which there is nothing to
// do: integers through stages that hand them on.
//
//	items [-stages 3] [-workers 1] [-buffer N] [-ordered] [-gate] [-batch N] [-for 2s]     how many a second, CPU time, allocations
//	items -channels [-stages 3] [-buffer N] [-for 2s]                                     the same of bare channels
//	items -life N [-stages 3] …                                                           from the description to closed, N items
//
// prints one line of JSON. Everything is on, as it always is: statistics, tickets, state.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"syscall"
	"time"
)

var (
	shape   form
	lasting = flag.Duration("for", 2*time.Second, "how long the steady state is measured")
	life    = flag.Int("life", 0, "measure whole lives of pipelines of so many items instead")
	profile = flag.String("cpuprofile", "", "write a CPU profile there")
)

func main() {
	flag.IntVar(&shape.stages, "stages", 3, "maps that do nothing")
	flag.IntVar(&shape.workers, "workers", 1, "of each")
	flag.IntVar(&shape.buffer, "buffer", 0, "of each; 0: the default")
	flag.BoolVar(&shape.ordered, "ordered", false, "keep the order of the input")
	flag.BoolVar(&shape.gate, "gate", false, "no more operations at once than there are cores")
	flag.IntVar(&shape.batch, "batch", 0, "put so many together in the end; 0: none")
	flag.BoolVar(&shape.channels, "channels", false, "bare channels of Go instead, with nothing of the engine")
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "items:", err)
		os.Exit(1)
	}
}

func run() error {
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	result, err := measure(shape)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

func measure(f form) (any, error) {
	if *life > 0 {
		return lives(f)
	}
	return steady(f)
}

// cost is what a process has used so far.
type cost struct {
	at      time.Time
	cpu     time.Duration
	mallocs uint64
}

func spent() (cost, error) {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	var usage syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return cost{time.Now(), time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), memory.Mallocs}, err
}
