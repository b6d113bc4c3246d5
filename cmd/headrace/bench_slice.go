package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/pipe"
)

// benchSlice is a stretch of time in which a recipe ran with one number of workers, and
// what it took.
type benchSlice struct {
	Seconds    float64    `json:"seconds"`
	Batches    int64      `json:"batches"`
	Samples    int64      `json:"samples"`
	CPUSeconds float64    `json:"cpu_seconds"`
	Delayed    *float64   `json:"delayed_seconds"` // threads could have run and had no CPU; null: the system does not say
	DiskBytes  *int64     `json:"disk_bytes"`      // read from disk, not from the page cache; null: the system does not say
	PeakRSS    int64      `json:"peak_rss"`        // of the process, since it began; shared memory is in it
	Budget     int64      `json:"budget"`
	PeakBudget int64      `json:"peak_budget"` // since the process began
	Stats      pipe.Stats `json:"stats"`
}

func (s benchSlice) rate() float64 { return float64(s.Samples) / s.Seconds }

// benchMeters are readings at one moment.
type benchMeters struct {
	at    time.Time
	cpu   time.Duration
	delay *time.Duration
	disk  *int64
	stats pipe.Stats

	rss, budget, peakBudget int64
}

func readMeters(l *headrace.Loader) benchMeters {
	s := l.Stats()
	m := benchMeters{at: time.Now(), cpu: cpuTime(), delay: runDelay(), stats: s.Stats, budget: s.Memory.Limit, peakBudget: s.Memory.Peak}
	self, _ := machine.ReadProcess(os.DirFS("/"), os.Getpid()) // of its times there are too few digits
	if self.IO != nil {
		m.disk = &self.IO.ReadDisk // what the process had to wait for a disk or a server for
	}
	if self.Memory != nil {
		m.rss = self.Memory.Peak
	}
	return m
}

func (m benchMeters) since(before benchMeters) benchSlice {
	s := benchSlice{
		Seconds: m.at.Sub(before.at).Seconds(), CPUSeconds: (m.cpu - before.cpu).Seconds(), Stats: m.stats.Minus(before.stats),
		PeakRSS: m.rss, Budget: m.budget, PeakBudget: m.peakBudget,
	}
	if m.delay != nil && before.delay != nil {
		s.Delayed = new((*m.delay - *before.delay).Seconds())
	}
	if m.disk != nil && before.disk != nil {
		s.DiskBytes = new(*m.disk - *before.disk)
	}
	return s
}

// cpuTime is what the process has used of the CPUs.
func cpuTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(unix.TimevalToNsec(u.Utime) + unix.TimevalToNsec(u.Stime))
}

// runDelay is how long the threads of the process, all together, waited for a CPU.
func runDelay() *time.Duration {
	files, _ := filepath.Glob("/proc/self/task/*/schedstat")
	var sum time.Duration
	known := false
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		if fields := strings.Fields(string(text)); len(fields) > 1 {
			n, err := strconv.ParseInt(fields[1], 10, 64)
			sum, known = sum+time.Duration(n), known || err == nil
		}
	}
	if !known {
		return nil
	}
	return &sum
}
