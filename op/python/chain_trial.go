package python

import (
	"context"
	"slices"
	"time"

	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

// behindTrials has a chain that reads samples go on behind those of them that were read
// when the loader was opened: its other functions are called by themselves then.
func (p *Function) behindTrials(steps []recipe.Step, in sample.Schema, where *record.Columns) error {
	if call := recipe.TraitsOf(steps[0].Args).Call; call.Kind != recipe.SourceCall || !HostOf(p.Env).trials.some.Load() {
		return nil
	}
	branch, calls := where.Branch(), HostOf(p.Env).Calls
	rest, _, err := NewChain(p.Env, steps[1:], p.Name[len(steps[0].Name)+1:], in, &branch)
	HostOf(p.Env).Calls = calls // they are counted as the chain's
	p.rest = rest
	return err
}

// goOn calls a chain for a sample that was read when the loader was opened; done: it was.
func (p *Function) goOn(ctx context.Context, c *extern.Call) (done bool, err error) {
	host, rest := HostOf(p.Env), p.rest
	t := host.trials.find(keyOf(p.links[0].name, c.ID), !host.probes)
	if t == nil || t.call.Random != [2]uint64{} && t.call.Random != c.Keys[0] {
		return false, nil
	}

	next := rest.after(t, c, p.In)
	for _, f := range rest.results {
		room := []byte(nil)
		if i := p.results.Find(f.Name); i >= 0 && i < len(c.Room) {
			room = c.Room[i]
		}
		next.Room = append(next.Room, room)
	}
	// Statistics list the functions of the chain, so the work of rest is counted there.
	before := rest.Pool.Links()
	if err := rest.Try(ctx, next, rest.results); err != nil {
		return true, err
	}

	c.Keep, c.Took = true, next.Took
	c.Out, c.Same = c.Out[:0], c.Same[:0]
	for i, f := range p.results {
		v, own := extern.Value{}, false
		if k := rest.results.Find(f.Name); k < 0 { // it was read
			v = t.out[slices.Index(t.names, f.Name)]
		} else if v = next.Out[k]; next.Same[k] >= 0 {
			v = next.In[next.Same[k]]
		} else {
			own = true
		}
		if !own {
			v = host.copied(c, i, v)
		}
		c.Out, c.Same = append(c.Out, v), append(c.Same, -1)
	}

	of := []extern.LinkStats{{Calls: 1, Time: t.call.Took}}
	for i, now := range rest.Pool.Links() {
		of = append(of, extern.LinkStats{Calls: min(1, now.Calls-before[i].Calls),
			Time: max(0, min(next.Took+time.Second, now.Time-before[i].Time))})
	}
	p.Pool.Made(c, of)
	return true, nil
}

// after returns a function's call with the outputs of a trial.
func (p *Function) after(t *trial, c *extern.Call, in []Field) *extern.Call {
	next := &extern.Call{ID: c.ID, Key: c.Key}
	if next.Keys = c.Keys[1:]; p.links == nil {
		next.Keys, next.Random = nil, c.Keys[1]
	}
	for _, f := range p.In {
		if i := slices.Index(t.names, f.Name); i >= 0 {
			next.In = append(next.In, own(t.out[i]))
			continue
		}
		i := slices.IndexFunc(in, func(of Field) bool { return of.Name == f.Name })
		next.In = append(next.In, c.In[i])
	}
	return next
}
