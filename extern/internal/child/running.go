package child

import (
	"bytes"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// living are the workers of this process that have not been reaped, so that their numbers
// are nobody else's.
var running = struct {
	mu   sync.Mutex
	pids map[int]bool
}{pids: map[int]bool{}}

// register notes that a worker has started.
func register(pid int) {
	running.mu.Lock()
	defer running.mu.Unlock()
	running.pids[pid] = true
}

// endGroup kills the rest of a worker's process group. The worker itself has exited but
// is not reaped yet, so its number is still its own.
func endGroup(pid int) {
	running.mu.Lock()
	defer running.mu.Unlock()
	unix.Kill(-pid, unix.SIGKILL)
	delete(running.pids, pid)
}

// EndAll kills all workers and their descendants, before this process exits. The kernel
// would end the workers then, but not their children, some of which leave the group; so
// they are listed first.
func EndAll() {
	running.mu.Lock()
	defer running.mu.Unlock()
	below := descendants(running.pids)
	for pid := range running.pids {
		unix.Kill(-pid, unix.SIGKILL)
	}
	for _, pid := range below {
		unix.Kill(pid, unix.SIGKILL)
	}
}

// descendants returns all processes below those given.
func descendants(of map[int]bool) (all []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil || len(of) == 0 {
		return nil
	}

	children := map[int][]int{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}

		stat, _ := os.ReadFile("/proc/" + e.Name() + "/stat")
		// The name, in brackets, may have anything in it; the state and the parent's
		// number follow.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 2 {
			continue // it has ended
		}
		if parent, err := strconv.Atoi(string(fields[1])); err == nil {
			children[parent] = append(children[parent], pid)
		}
	}

	for pid := range of {
		all = append(all, children[pid]...)
	}
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all
}
