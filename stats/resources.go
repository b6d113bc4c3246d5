package stats

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/headrace/headrace/internal/bytesize"
)

// Resources counts the resources that a loader's processes have used since a batch was
// first asked for, and those they hold now.
type Resources struct {
	Elapsed   time.Duration `json:"elapsed_ns"` // since then
	Cores     int           `json:"cores"`      // that these processes may use
	Processes []Process     `json:"processes"`
	Network   *Network      `json:"network,omitempty"` // nil: the system does not say
	Machine   *Machine      `json:"machine,omitempty"` // likewise
}

// Machine counts the time of the machine's CPUs for all programs.
type Machine struct {
	Busy time.Duration `json:"busy_ns"`
	Idle time.Duration `json:"idle_ns"`
}

// Process is one of them. A child that has ended is in the numbers of the process that
// has waited for it: Ended is its time, and bytes are among that process's own.
type Process struct {
	Name string `json:"name"` // trainer, engine, or the stage whose worker it is
	PID  int    `json:"pid"`

	User    time.Duration `json:"user_ns"`   // of the CPUs' time, in the program itself
	System  time.Duration `json:"system_ns"` // in the kernel on its behalf
	Ended   time.Duration `json:"ended_ns"`  // of both, of children that have ended
	Threads int           `json:"threads"`   // now

	Resident *int64 `json:"resident,omitempty"` // bytes in memory, now; nil, here and below: the system does not say
	Shared   *int64 `json:"shared,omitempty"`   // of it, shared memory, which counts in every process that has it mapped
	Peak     *int64 `json:"peak,omitempty"`     // the most that was ever resident
	Swapped  *int64 `json:"swapped,omitempty"`  // bytes in swap, now

	Read        *int64 `json:"read,omitempty"`         // bytes, by calls: what files, pipes and the page cache gave
	ReadDisk    *int64 `json:"read_disk,omitempty"`    // bytes fetched from disk or a server
	Written     *int64 `json:"written,omitempty"`      // bytes, by calls
	WrittenDisk *int64 `json:"written_disk,omitempty"` // bytes that have to go to a disk or a server
}

// Network counts the bytes that passed the interfaces of the container, or of the machine
// if there is none, without traffic to itself. All programs are included, because the
// system counts by interface.
type Network struct {
	Received int64 `json:"received"` // bytes
	Sent     int64 `json:"sent"`
}

// CPU is the CPUs' time of the process and of its children that have ended.
func (p Process) CPU() time.Duration { return p.User + p.System + p.Ended }

// Minus returns the use between two readings of one loader. Resources held now stay as
// they are. A process that did not exist earlier counts in full.
func (r Resources) Minus(earlier Resources) Resources {
	d := Resources{Elapsed: r.Elapsed - earlier.Elapsed, Cores: r.Cores}
	for _, p := range r.Processes {
		i := slices.IndexFunc(earlier.Processes, func(q Process) bool { return q.PID == p.PID && q.Name == p.Name })
		if i >= 0 {
			p = p.minus(earlier.Processes[i])
		}
		d.Processes = append(d.Processes, p)
	}
	if r.Network != nil && earlier.Network != nil {
		d.Network = &Network{r.Network.Received - earlier.Network.Received, r.Network.Sent - earlier.Network.Sent}
	}
	if r.Machine != nil && earlier.Machine != nil {
		d.Machine = &Machine{r.Machine.Busy - earlier.Machine.Busy, r.Machine.Idle - earlier.Machine.Idle}
	}
	return d
}

// others returns the number of CPUs that other programs used and the number that the
// machine has. It is ok only if hardly any time was idle: idle CPUs could have been used.
func (r Resources) others() (used, all float64, ok bool) {
	m := r.Machine
	if m == nil || r.Elapsed <= 0 || m.Busy+m.Idle <= 0 || share(m.Idle, m.Busy+m.Idle) > waits {
		return 0, 0, false
	}
	rest := m.Busy
	for _, p := range r.Processes {
		rest -= p.CPU()
	}
	used, all = share(rest, r.Elapsed), share(m.Busy+m.Idle, r.Elapsed)
	return used, all, used > waits*all
}

func (p Process) minus(q Process) Process {
	p.User, p.System, p.Ended = p.User-q.User, p.System-q.System, p.Ended-q.Ended
	p.Read, p.ReadDisk = less(p.Read, q.Read), less(p.ReadDisk, q.ReadDisk)
	p.Written, p.WrittenDisk = less(p.Written, q.Written), less(p.WrittenDisk, q.WrittenDisk)
	return p
}

func less(a, b *int64) *int64 {
	if a == nil || b == nil {
		return nil
	}
	return new(*a - *b)
}

// plus adds up processes of one name.
func (p Process) plus(q Process) Process {
	p.User, p.System, p.Ended = p.User+q.User, p.System+q.System, p.Ended+q.Ended
	p.Threads += q.Threads
	for _, n := range []struct {
		to   **int64
		more *int64
	}{{&p.Resident, q.Resident}, {&p.Shared, q.Shared}, {&p.Peak, q.Peak}, {&p.Swapped, q.Swapped}, {&p.Read, q.Read}, {&p.ReadDisk, q.ReadDisk}, {&p.Written, q.Written}, {&p.WrittenDisk, q.WrittenDisk}} {
		if *n.to == nil || n.more == nil {
			*n.to = nil
			continue
		}
		*n.to = new(**n.to + *n.more)
	}
	return p
}

// resources draws a line for the processes of each name, in the order in which they are
// listed.
func resources(r Resources) string {
	if len(r.Processes) == 0 {
		return ""
	}

	var all []Process
	count := map[string]int{}
	for _, p := range r.Processes {
		if count[p.Name]++; count[p.Name] == 1 {
			all = append(all, p)
			continue
		}
		i := slices.IndexFunc(all, func(q Process) bool { return q.Name == p.Name })
		all[i] = all[i].plus(p)
	}

	header := []string{"process", "cores", "memory", "shared", "peak", "read", "disk", "written"}
	if r.Cores > 0 {
		header[1] = fmt.Sprintf("/%d cores", r.Cores)
	}

	rows := [][]string{header}
	for _, p := range all {
		name := ShortName(p.Name)
		if n := count[p.Name]; n > 1 {
			name += fmt.Sprintf(" ×%d", n)
		}

		perSecond := func(n *int64) string {
			if n == nil || r.Elapsed <= 0 {
				return "-"
			}
			return bytesize.Text(int64(float64(*n)/r.Elapsed.Seconds())) + "/s"
		}
		amount := func(n *int64) string {
			if n == nil {
				return "-"
			}
			return bytesize.Text(*n)
		}

		rows = append(rows, []string{
			name, digits(share(p.CPU(), r.Elapsed)), amount(p.Resident), amount(p.Shared), amount(p.Peak), perSecond(p.Read), perSecond(p.ReadDisk), perSecond(p.Written),
		})
	}

	text := columns(rows)
	if n := r.Network; n != nil && cmp.Or(n.Received, n.Sent) != 0 && r.Elapsed > 0 {
		each := func(n int64) string { return bytesize.Text(int64(float64(n)/r.Elapsed.Seconds())) + "/s" }
		text += "\n" + wrap(fmt.Sprintf("network: %s received, %s sent, by all that runs here", each(n.Received), each(n.Sent)))
	}
	return text
}
