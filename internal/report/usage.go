package report

import (
	"cmp"
	"io/fs"
	"os"
	"time"

	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/stats"
)

// Usage is what the processes of a loader have used since it was opened: since a consumer
// first asked the loader for a batch.
type Usage struct {
	root    fs.FS
	opened  time.Time
	cores   int
	before  map[int]machine.Process // those that were there already, as they were then
	cpu     *machine.CPU            // of all programs, as it was then; nil: the system does not say
	network *machine.Network        // as it was then; nil: the system does not say
}

// Process is one that works for a loader.
type Process struct {
	Name string // the stage's, for a worker
	PID  int
}

// OpenUsage begins to count, for processes that are there already.
func OpenUsage(root fs.FS, cores int, there []Process) *Usage {
	u := &Usage{root: root, opened: time.Now(), cores: cores, before: map[int]machine.Process{}}
	for _, h := range there {
		if p, err := machine.ReadProcess(root, h.PID); err == nil {
			u.before[h.PID] = p
		}
	}
	if n, ok := machine.ReadNetwork(root, os.Getpid()); ok {
		u.network = &n
	}
	if c, ok := machine.ReadCPU(root); ok {
		u.cpu = &c
	}
	return u
}

// Read returns the numbers of now. A process that has ended, or that may not be seen, is
// left out.
func (u *Usage) Read(now time.Time, helpers []Process) stats.Resources {
	r := stats.Resources{Elapsed: now.Sub(u.opened), Cores: u.cores}
	for _, h := range helpers {
		p, err := machine.ReadProcess(u.root, h.PID)
		if err != nil {
			continue
		}
		before := u.before[h.PID]
		if before.Began != p.Began {
			before = machine.Process{} // another one, which had its number
		}
		r.Processes = append(r.Processes, used(h, p, before))
	}
	if n, ok := machine.ReadNetwork(u.root, os.Getpid()); ok && u.network != nil {
		r.Network = &stats.Network{Received: grown(n.Received, u.network.Received), Sent: grown(n.Sent, u.network.Sent)}
	}
	if c, ok := machine.ReadCPU(u.root); ok && u.cpu != nil {
		r.Machine = &stats.Machine{Busy: grown(c.Busy, u.cpu.Busy), Idle: grown(c.Idle, u.cpu.Idle)}
	}
	return r
}

// used is what a process has used since before.
func used(h Process, p, before machine.Process) stats.Process {
	s := stats.Process{
		Name: h.Name, PID: h.PID, User: grown(p.User, before.User), System: grown(p.System, before.System),
		Ended: grown(p.Children, before.Children), Threads: p.Threads,
	}
	if m := p.Memory; m != nil {
		s.Resident, s.Shared, s.Peak, s.Swapped = &m.Resident, &m.Shared, &m.Peak, &m.Swapped
	}
	if d := p.Delayed; d != nil {
		s.Delayed = new(int64(grown(*d, *cmp.Or(before.Delayed, new(time.Duration)))))
	}
	if io := p.IO; io != nil {
		then := cmp.Or(before.IO, &machine.IO{})
		s.Read, s.ReadDisk = new(grown(io.Read, then.Read)), new(grown(io.ReadDisk, then.ReadDisk))
		s.Written, s.WrittenDisk = new(grown(io.Written, then.Written)), new(grown(io.WrittenDisk, then.WrittenDisk))
	}
	return s
}

// grown is by how much a number has grown. Interfaces come and go, and what went with one
// is not negative.
func grown[T int64 | time.Duration](now, before T) T { return max(0, now-before) }
