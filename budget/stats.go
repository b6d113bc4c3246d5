package budget

import "slices"

// Stats is what a budget has seen. It is plain data, for JSON.
type Stats struct {
	Limit    int64          `json:"limit"`
	Used     int64          `json:"used"`
	Peak     int64          `json:"peak"`   // most that was used at once; what it exceeds Limit by is the overshoot
	Forced   int64          `json:"forced"` // grants that did not fit, given because theirs was the oldest item
	Waiting  int            `json:"waiting"`
	Purposes []PurposeStats `json:"purposes"` // in the order of their first use
}

// PurposeStats is one purpose's part of Stats.
type PurposeStats struct {
	Purpose Purpose `json:"purpose"`
	Used    int64   `json:"used"`
	Peak    int64   `json:"peak"`
	Grants  int64   `json:"grants"` // how often an item acquired
}

// Stats returns the numbers as they are now.
func (b *Budget) Stats() Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	return Stats{Limit: b.limit, Used: b.used, Peak: b.peak, Forced: b.forced, Waiting: b.waiting, Purposes: slices.Clone(b.purposes)}
}

// Used is the number of bytes granted and reserved now.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// ByPurpose is the number of bytes used now for each purpose.
func (b *Budget) ByPurpose() map[Purpose]int64 {
	used := map[Purpose]int64{}
	for _, p := range b.Stats().Purposes {
		used[p.Purpose] = p.Used
	}
	return used
}
