package machine

// The defaults below are one rank's: ranks is the number of consumers on this machine,
// which share it; less than 1 counts as 1.

// mostBudget is where a larger budget stops to make a loader faster: files read ahead
// and batches in the making for a hundred workers.
const mostBudget = 2 << 30

// Workers is how many operations a rank runs at once: its share of the cores, at least
// one.
func (m Machine) Workers(ranks int) int { return max(1, m.Cores/max(1, ranks)) }

// Budget is how many bytes a rank's loader may work with: a quarter of the memory that
// is available, at most 2 GiB, shared among the ranks.
func (m Machine) Budget(ranks int) int64 { return min(m.Memory/4, mostBudget) / int64(max(1, ranks)) }

// HoldLimit is how many bytes of batches a rank's consumer may hold: half of the memory
// that is available, shared among the ranks. It is at least 1, because 0 reads as no
// limit.
func (m Machine) HoldLimit(ranks int) int64 { return max(1, m.Memory/2/int64(max(1, ranks))) }
