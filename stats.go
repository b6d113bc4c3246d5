package headrace

import "headrace/stats"

// Stats returns the loader's numbers over all its runs, as they are now. They outlive Close.
func (l *Loader) Stats() stats.Snapshot {
	l.mu.Lock()
	total := l.total
	if l.run != nil {
		total = total.Plus(l.run.Stats())
	}
	l.mu.Unlock()
	return stats.Snapshot{Stats: total, Memory: l.memory(), Decoder: l.info.Decoder, Resources: l.resources(), Functions: l.work.Host.Stats()}
}

func (l *Loader) memory() stats.Memory {
	b, a := l.budget.Stats(), l.arena.Stats()
	m := stats.Memory{
		Limit: b.Limit, Used: b.Used, Peak: b.Peak,
		Batches: stats.Batches{Slots: a.Slots, Leased: a.Leased, Unpooled: a.Unpooled, Bytes: a.Bytes},
	}
	for _, p := range b.Purposes {
		m.Purposes = append(m.Purposes, stats.Purpose{Name: string(p.Purpose), Used: p.Used, Peak: p.Peak})
	}
	return m
}
