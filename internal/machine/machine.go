package machine

import (
	"io/fs"
	"os"
	"runtime"
)

// Machine is what this process may use of the machine it runs on.
type Machine struct {
	Cores      int    // at least 1
	CoresFrom  string // who limits them
	Memory     int64  // bytes that are available still; may be 0
	MemoryFrom string // who limits it
}

// guessedMemory is assumed where the system does not say: little enough to be there,
// enough to work.
const guessedMemory = 1 << 30

// Here asks the machine that the process runs on. What is available changes with what
// everyone uses: the answer is of this moment.
func Here() Machine { return Read(os.DirFS("/")) }

// CPUs is how many cores this process may use.
func CPUs() int { return Here().Cores }

// Read is Here for a file system whose root has proc and sys.
func Read(root fs.FS) Machine {
	groups := readControlGroups(root)
	m := Machine{Cores: runtime.NumCPU(), CoresFrom: "the Go runtime", Memory: guessedMemory,
		MemoryFrom: "a guess: /proc/meminfo does not say"}
	if n, ok := affinity(root); ok {
		m.Cores, m.CoresFrom = n, "affinity"
	}
	if n, from, ok := groups.cores(); ok && n < m.Cores {
		m.Cores, m.CoresFrom = n, from
	}
	if n, ok := memAvailable(root); ok {
		m.Memory, m.MemoryFrom = n, "/proc/meminfo"
	}
	if n, from, ok := groups.memory(); ok && n < m.Memory {
		m.Memory, m.MemoryFrom = n, from
	}
	return m
}
