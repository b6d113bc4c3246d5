package extern

import (
	"time"

	"github.com/headrace/headrace/internal/machine"
)

// packTime is how long a pack should take: long enough that nobody notices how a worker
// waits between two of them. Results go back before its end.
const packTime = 20 * time.Millisecond

// A run must not go on starting processes that cannot work: so many in a row may die
// before they worked on anything, each waited for longer than the one before.
const (
	mostBarren = 3
	backOff    = 100 * time.Millisecond
)

// starts has an entry for each process that is on its way to its first sample. So many at
// once as there are cores are soonest ready: if more start together, all are late.
var starts = make(chan struct{}, max(2, machine.CPUs()))

// startTime is how long others wait for a process that starts; one that takes longer
// waits itself, for a disk or a network.
const startTime = time.Second

const (
	packBytes      = 256 << 10 // of small values
	mostCoroutines = 2048      // of one event loop
)

// Names of what goes with each sample of a source, its state and its name. No field of a
// user's can have them.
const (
	stateField = "\x00state"
	keyField   = "\x00key"
)

// patience is how long a call may go on that nobody waits for any more.
const patience = time.Second
