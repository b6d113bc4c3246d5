package extern

import "time"

// Made counts a call whose results are those of one that was made before, by other pools
// of the same functions.
func (p *Pool) Made(c *Call, of []LinkStats) {
	p.calls.Add(1)
	p.time.Add(int64(c.Took))
	p.chain.Add(of)
}

// Links are the functions of a chain with their counts; of another pool there is one.
func (p *Pool) Links() []LinkStats {
	if p.chain == nil {
		return []LinkStats{{Step: p.o.Stage, Calls: p.calls.Load(), Time: time.Duration(p.time.Load())}}
	}
	return p.chain.Stats()
}

// Stage is the name that it was opened with.
func (p *Pool) Stage() string { return p.o.Stage }

// Stats returns the counts.
func (p *Pool) Stats() Stats {
	spawned := ""
	if server := p.workers.server; server != nil {
		spawned = server.Spawns()
	}
	return Stats{
		Calls: p.calls.Load(), Packs: p.packs.Load(), BytesIn: p.bytesIn.Load(), BytesOut: p.bytesOut.Load(), Restarts: p.restarts.Load(),
		PIDs: p.workers.pidsFor(p), Spawned: spawned,
	}
}
