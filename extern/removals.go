package extern

import (
	"encoding/json"

	"github.com/headrace/headrace/extern/internal/conn"
	"github.com/headrace/headrace/wire"
)

// forget sends the worker the removals that this caller, and its process's event loop,
// have not sent yet.
func (c *caller) forget() error {
	news := c.process.team.since(c.forgot)
	c.forgot += len(news)
	for _, r := range news {
		delete(c.knows, r.Function)
	}
	if err := tellRemovals(c.conn, news); err != nil {
		return err
	}
	return c.process.forget()
}

// forget sends the removals on the event loop's connection.
func (proc *process) forget() error {
	proc.installing.Lock()
	defer proc.installing.Unlock()
	news := proc.team.since(proc.forgot)
	proc.forgot += len(news)
	for _, r := range news {
		delete(proc.has, r.Function)
	}
	return proc.loop.forget(news)
}

// tellRemovals sends removals to a worker on one of its connections.
func tellRemovals(c *conn.Conn, news []removal) error {
	if len(news) == 0 {
		return nil
	}
	for _, r := range news {
		c.Forget(r.Segments)
	}
	text, err := json.Marshal(news)
	if err != nil {
		return err
	}
	return c.Send(wire.KindForget, 0, text)
}
