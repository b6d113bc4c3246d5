package extern

import "time"

// Stats are counts since Open.
type Stats struct {
	Calls    int64 // that have come back
	Packs    int64 // that they have travelled in
	BytesIn  int64 // given to workers, shared or copied
	BytesOut int64
	Restarts int64 // processes that have taken the place of others
	PIDs     []int // of the processes that run now
	// why these were started one by one, and not forked from one that has imported
	// their modules; empty: they were forked, or there is none yet
	Spawned string
}

// Made counts a call whose results are those of one that was made before, by other pools
// of the same functions.
func (p *Pool) Made(c *Call, of []LinkStats) {
	p.calls.Add(1)
	p.time.Add(int64(c.Took))
	p.function.Chain.Add(of)
}

// Links are the functions of a chain with their counts; of another pool there is one.
func (p *Pool) Links() []LinkStats {
	if p.function.Chain == nil {
		return []LinkStats{{Step: p.o.Stage, Calls: p.calls.Load(), Time: time.Duration(p.time.Load())}}
	}
	return p.function.Chain.Stats()
}

// Elsewhere reports whether its workers are processes, not threads of the program.
func (p *Pool) Elsewhere() bool { return p.workers.server != nil }

// Stage is the name that it was opened with.
func (p *Pool) Stage() string { return p.o.Stage }

// Stats returns the counts.
func (p *Pool) Stats() Stats {
	spawned := ""
	if server := p.workers.server; server != nil {
		spawned = server.Spawns()
	}
	return Stats{
		Calls: p.calls.Load(), Packs: p.function.packs.Load(), BytesIn: p.function.BytesIn.Load(),
		BytesOut: p.function.BytesOut.Load(), Restarts: p.function.restarts.Load(),
		PIDs: p.workers.pidsFor(&p.function), Spawned: spawned,
	}
}
