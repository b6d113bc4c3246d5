package steady

import "github.com/headrace/headrace/store"

// Counts returns the counts of all hosts.
func (c *Client) Counts() (all []store.Counts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, h := range c.hosts {
		h.mu.Lock()
		one := h.counts
		one.Host, one.AtOnce = name, int(h.window)
		h.mu.Unlock()
		all = append(all, one)
	}
	return all
}
