package stats

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/headrace/headrace/internal/bytesize"
	"github.com/headrace/headrace/pipe/observe/counters"
)

// Resources counts the resources that a loader's processes have used since a batch was
// first asked for, and those they hold now.
type Resources struct {
	Elapsed   time.Duration `json:"elapsed_ns" counter:"ns" doc:"time since then"`
	Cores     int           `json:"cores" gauge:"cores" doc:"CPU cores that these processes may use"`
	Processes []Process     `json:"processes" doc:"the processes"`
	Network   *Network      `json:"network,omitempty" doc:"the bytes on the network, by all that runs here; absent: unknown"`
	Machine   *Machine      `json:"machine,omitempty" doc:"the time of all CPUs of the machine, for all programs; absent: unknown"`
}

// Machine counts the time of the machine's CPUs for all programs.
type Machine struct {
	Busy time.Duration `json:"busy_ns" counter:"ns" doc:"time in which CPUs worked"`
	Idle time.Duration `json:"idle_ns" counter:"ns" doc:"time in which CPUs had nothing to do"`
}

// Process is one of them. A child that has ended is in the numbers of the process that
// has waited for it: Ended is its time, and bytes are among that process's own. Numbers
// that the system does not tell are nil.
type Process struct {
	Name string `json:"name" doc:"'trainer', 'engine', or the stage whose worker it is"`
	PID  int    `json:"pid" doc:"its number"`

	User    time.Duration `json:"user_ns" counter:"ns" doc:"CPU time in the program itself"`
	System  time.Duration `json:"system_ns" counter:"ns" doc:"CPU time in the kernel on its behalf"`
	Ended   time.Duration `json:"ended_ns" counter:"ns" doc:"CPU time of children that have ended"`
	Threads int           `json:"threads" gauge:"threads" doc:"threads"`
	Delayed *int64        `json:"delayed_ns,omitempty" counter:"ns" doc:"time in which its first thread was ready to work and had no CPU"`

	Resident *int64 `json:"resident,omitempty" gauge:"bytes" doc:"bytes in memory"`
	Shared   *int64 `json:"shared,omitempty" gauge:"bytes" doc:"bytes of shared memory, which every process has that maps it"`
	Peak     *int64 `json:"peak,omitempty" gauge:"bytes" doc:"the most bytes that were ever in memory"`
	Swapped  *int64 `json:"swapped,omitempty" gauge:"bytes" doc:"bytes in swap"`

	Read        *int64 `json:"read,omitempty" counter:"bytes" doc:"bytes read by calls, from files, pipes and the page cache"`
	ReadDisk    *int64 `json:"read_disk,omitempty" counter:"bytes" doc:"bytes fetched from a disk or server"`
	Written     *int64 `json:"written,omitempty" counter:"bytes" doc:"bytes written by calls"`
	WrittenDisk *int64 `json:"written_disk,omitempty" counter:"bytes" doc:"bytes that must go to a disk or server"`
}

// Network counts the bytes that passed the interfaces of the container, or of the machine
// if there is none, without traffic to itself. All programs are included, because the
// system counts by interface.
type Network struct {
	Received int64 `json:"received" counter:"bytes" doc:"bytes received"`
	Sent     int64 `json:"sent" counter:"bytes" doc:"bytes sent"`
}

// CPU is the CPUs' time of the process and of its children that have ended.
func (p Process) CPU() time.Duration { return p.User + p.System + p.Ended }

// Minus returns the use between two readings of one loader. Resources held now stay as
// they are. A process that did not exist earlier counts in full.
func (r Resources) Minus(earlier Resources) Resources {
	counters.Add(&r, -1, earlier)
	r.Processes = slices.Clone(r.Processes)
	for i, p := range r.Processes {
		same := func(q Process) bool { return q.PID == p.PID && q.Name == p.Name }
		if before := slices.IndexFunc(earlier.Processes, same); before >= 0 {
			counters.Add(&r.Processes[i], -1, earlier.Processes[before])
		}
	}
	return r
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
		counters.Merge(&all[i], p)
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
			name, digits(share(p.CPU(), r.Elapsed)), amount(p.Resident), amount(p.Shared),
			amount(p.Peak), perSecond(p.Read), perSecond(p.ReadDisk), perSecond(p.Written),
		})
	}

	text := columns(rows)
	if n := r.Network; n != nil && cmp.Or(n.Received, n.Sent) != 0 && r.Elapsed > 0 {
		each := func(n int64) string { return bytesize.Text(int64(float64(n)/r.Elapsed.Seconds())) + "/s" }
		text += "\n" + wrap(fmt.Sprintf("network: %s received, %s sent, by all that runs here", each(n.Received), each(n.Sent)))
	}
	return text
}
