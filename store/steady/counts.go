package steady

import (
	"cmp"
	"slices"
	"time"
)

// Counts counts the requests to one host.
type Counts struct {
	Host      string        `json:"host"`
	Requests  int64         `json:"requests"`
	Answers   int64         `json:"answers"`
	Failed    int64         `json:"failed"`     // connections and answers that broke off, stalled, or were wrong
	Throttled int64         `json:"throttled"`  // answers that asked for time
	Retries   int64         `json:"retries"`    // requests sent again
	Hedges    int64         `json:"hedges"`     // requests sent twice, as they were late
	Won       int64         `json:"hedges_won"` // of these, answered first
	Wanted    int64         `json:"wanted"`     // bytes asked for
	Fetched   int64         `json:"fetched"`    // bytes that came
	Waited    time.Duration `json:"waited_ns"`  // of requests for their turn
	AtOnce    int           `json:"at_once"`    // requests that may be sent at once now
}

// Counts returns those of all hosts, by their names.
func (c *Client) Counts() (all []Counts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, h := range c.hosts {
		h.mu.Lock()
		one := h.counts
		one.Host, one.AtOnce = name, int(h.window)
		h.mu.Unlock()
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b Counts) int { return cmp.Compare(a.Host, b.Host) })
	return all
}
