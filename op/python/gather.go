package python

import (
	"context"

	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/sample"
)

// leastRun is from how many samples a message is made for all of them.
const leastRun = 16

// Runs reports whether calls are so quick that samples are to be given to
// [Function.Gather] now.
func (p *Function) Runs() bool {
	h := HostOf(p.Env)
	return !h.probes && !h.trials.some.Load() && p.Pool.Run() >= leastRun
}

// Gather has the function called for samples of which it needs only the numbers. It
// returns the place of the first that has failed, and why.
func (p *Function) Gather(ctx context.Context, c *extern.Call) (failed int, err error) {
	failed, err = p.Pool.Gather(ctx, c)
	pipe.Worked(ctx, c.Took)
	return failed, Final(err)
}

// Tried reports whether the function was called with a sample when the loader was opened,
// and what it gave is still there.
func (p *Function) Tried(id sample.ID) bool {
	s := &HostOf(p.Env).trials
	if !s.some.Load() {
		return false
	}
	names := []string{p.Name}
	if p.rest != nil {
		names = append(names, p.links[0].name)
	}
	return s.has(id, names...)
}
