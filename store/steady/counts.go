package steady

import "github.com/headrace/headrace/store"

// Counts returns the counts of all hosts.
func (c *Client) Counts() (all []store.Counts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, h := range c.hosts {
		h.mu.Lock()
		one := h.counts
		one.Host = name
		one.AtOnce, _ = h.pace.share()
		one.Silent = h.silent()
		h.mu.Unlock()
		all = append(all, one)
	}
	return all
}
