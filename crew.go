package headrace

import (
	"sync"

	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/internal/scratch"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/store"
)

// crew is the fourth result of assemble: the workers, and the environment in which steps
// work.
type crew struct {
	gate    *Gate
	workers int       // samples in hand at once
	env     *core.Env // shared by all parts of the loader
}

// hire opens the gate for this loader's share of the cores, and starts a host if a
// function of Python needs one.
func hire(d design, from listing, host *python.Host) (w crew, err error) {
	share := shareOf(d.config)
	w.gate, w.workers = d.options.Gate, workersFor(d.config, share)
	w.gate.Widen(share) // more workers than cores would only make each sample later, the first ones above all

	var doubted sync.Once
	w.env = &core.Env{
		Doubt: func(message string) { doubted.Do(func() { d.options.Warn("index", message) }) },
		Seed:  d.recipe.Seed,
		Ranks: d.config.mustAgree(), Ledger: d.options.Ledger, Gate: w.gate.stages(),
		Memory: record.Memory{Files: scratch.Pool{Brief: true}, Images: scratch.Pool{Brief: true}},
	}
	if !callsPython(d.recipe) {
		return w, nil
	}
	if host == nil {
		if host, err = python.NewHost(d.options.Python, d.options.Log, d.options.Look, share, false); err != nil {
			return w, err
		}
	}
	w.env.Host = host
	w.env.Share(host.Heap)
	return w, nil
}

// callsPython reports whether any step needs workers: a function of samples, or one that
// orders them, whose arguments have a method CallsPython, or one that mixes them.
func callsPython(r recipe.Recipe) bool {
	for _, s := range r.All() {
		t := recipe.TraitsOf(s.Args)
		chooses := t.Merging != nil && t.Merging.Mix != nil && t.Merging.Mix.Choose != ""
		if _, calls := s.Args.(interface{ CallsPython() }); calls || chooses || t.Call != nil {
			return true
		}
	}
	return false
}

// shareOf returns how many cores are the loader's to use.
func shareOf(c Config) int { return min(machine.Here().Workers(c.LocalWorldSize), maxWorkers) }

// workersFor returns how many samples a loader with this share of the cores has in hand.
func workersFor(c Config, share int) int {
	if c.Workers != nil {
		return *c.Workers
	}
	return min(share+(share+1)/2, maxWorkers) // docs/rationale.md says why there are more than cores
}

// readersFor returns how many files are read at once. Reading waits, so it is not bound
// to the cores; beyond this many, disks gain nothing. A store answers late, and paces its
// requests itself.
func readersFor(workers int, sources []*source.Listing) int {
	for _, s := range sources {
		if c, ok := s.Contents.(source.Away); ok && c.Away() {
			return store.MostAtOnce
		}
	}
	return min(2*workers+2, 32)
}
