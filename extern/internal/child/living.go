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
var living = struct {
	mu   sync.Mutex
	pids map[int]bool
}{pids: map[int]bool{}}

func born(pid int) {
	living.mu.Lock()
	defer living.mu.Unlock()
	living.pids[pid] = true
}

// buried ends what is left of a worker's group. The worker itself has ended and was not
// reaped.
func buried(pid int) {
	living.mu.Lock()
	defer living.mu.Unlock()
	unix.Kill(-pid, unix.SIGKILL)
	delete(living.pids, pid)
}

// EndAll ends all workers and what they have started, for a process that is about to
// exit. The kernel ends workers then, but not their children: it is asked first who these
// are, since some leave the group.
func EndAll() {
	living.mu.Lock()
	defer living.mu.Unlock()
	below := descendants(living.pids)
	for pid := range living.pids {
		unix.Kill(-pid, unix.SIGKILL)
	}
	for _, pid := range below {
		unix.Kill(pid, unix.SIGKILL)
	}
}

// descendants are the processes below others.
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
