package headrace

import (
	"cmp"
	"io/fs"
	"os"
	"slices"
	"time"

	"headrace/internal/machine"
	"headrace/internal/ops"
	"headrace/stats"
)

// usage is what the processes of a loader have used since it was opened.
type usage struct {
	root    fs.FS
	opened  time.Time
	cores   int
	before  map[int]machine.Process // those that were there already, as they were then
	network *machine.Network        // as it was then; nil: the system does not say
}

// helper is a process that works for a loader.
type helper struct {
	name string
	pid  int
}

func openUsage(root fs.FS, cores int, there []helper) *usage {
	u := &usage{root: root, opened: time.Now(), cores: cores, before: map[int]machine.Process{}}
	for _, h := range there {
		if p, err := machine.ReadProcess(root, h.pid); err == nil {
			u.before[h.pid] = p
		}
	}
	if n, ok := machine.ReadNetwork(root, os.Getpid()); ok {
		u.network = &n
	}
	return u
}

// read returns the numbers of now. A process that has ended, or that may not be seen, is left out.
func (u *usage) read(now time.Time, helpers []helper) stats.Resources {
	r := stats.Resources{Elapsed: now.Sub(u.opened), Cores: u.cores}
	for _, h := range helpers {
		p, err := machine.ReadProcess(u.root, h.pid)
		if err != nil {
			continue
		}
		before := u.before[h.pid]
		if before.Began != p.Began {
			before = machine.Process{} // another one, which had its number
		}
		r.Processes = append(r.Processes, used(h, p, before))
	}
	if n, ok := machine.ReadNetwork(u.root, os.Getpid()); ok && u.network != nil {
		r.Network = &stats.Network{Received: grown(n.Received, u.network.Received), Sent: grown(n.Sent, u.network.Sent)}
	}
	return r
}

// used is what a process has used since before.
func used(h helper, p, before machine.Process) stats.Process {
	s := stats.Process{
		Name: h.name, PID: h.pid, User: grown(p.User, before.User), System: grown(p.System, before.System), Ended: grown(p.Children, before.Children), Threads: p.Threads,
	}
	if m := p.Memory; m != nil {
		s.Resident, s.Shared, s.Peak, s.Swapped = &m.Resident, &m.Shared, &m.Peak, &m.Swapped
	}
	if io := p.IO; io != nil {
		then := cmp.Or(before.IO, &machine.IO{})
		s.Read, s.ReadDisk = new(grown(io.Read, then.Read)), new(grown(io.ReadDisk, then.ReadDisk))
		s.Written, s.WrittenDisk = new(grown(io.Written, then.Written)), new(grown(io.WrittenDisk, then.WrittenDisk))
	}
	return s
}

// grown is by how much a number has grown. Interfaces come and go, and what went with one is not negative.
func grown[T int64 | time.Duration](now, before T) T { return max(0, now-before) }

// helpers are the processes that work for the loader: who gets the batches, this one, and workers.
func (l *Loader) helpers() []helper {
	var all []helper
	here := os.Getpid()
	if pid := l.options.Consumer; pid != 0 && pid != here {
		all = append(all, helper{"trainer", pid})
	}
	return append(append(all, helper{"engine", here}), workerProcesses(l.work.Host)...)
}

// workerProcesses are the workers, by their stages.
func workerProcesses(h *ops.Host) (all []helper) {
	for _, p := range h.All() {
		for _, pid := range p.Stats().PIDs {
			all = append(all, helper{p.Stage(), pid})
		}
	}
	return all
}

// resources are those of now, or of the moment of Close.
func (l *Loader) resources() stats.Resources {
	l.mu.Lock()
	last := l.last
	l.mu.Unlock()
	if last != nil {
		r := *last
		r.Processes = slices.Clone(r.Processes)
		return r
	}
	return l.usage.read(time.Now(), l.helpers())
}
