package headrace

import (
	"fmt"
	"slices"

	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/pipe"
)

// SetWorkers changes how many samples a stage has in hand at once, of those in
// [Info].Stages that have workers, by its name or that of one of its steps; "" means
// all that compute, which have the Workers of [Config]. It may be called by anyone at any
// time. Batches, order and state stay what they would have been. The number holds for all
// runs of the loader that follow, and is in Info and Stats; no more samples are worked on
// at a time than there are cores, whatever it is. Of batches that functions of Python
// make, no more are made at a time than there are slots for, two for each worker that the
// step began with.
//
// Samples that are in hand are finished first; nobody waits for them. Errors wrap
// [ErrConfig].
func (l *Loader) SetWorkers(stage string, n int) error {
	if n < 1 || n > maxWorkers {
		return fmt.Errorf("%w: %d workers: must be from 1 to %d", ErrConfig, n, maxWorkers)
	}

	l.mu.Lock()
	defer l.mu.Unlock()

	stage = l.stageOf(stage)
	names := []string{stage}
	if stage == "" {
		names = l.compiled.Computing
	} else if err := l.adjustable(stage); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	} else if err := python.HostOf(l.work).Refuses(stage, n); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}

	for _, name := range names {
		l.workers[name] = n
		if l.run == nil {
			continue
		}
		if err := l.run.SetWorkers(name, n); err != nil && err != pipe.ErrClosed { // by Stop; the next run will have it
			return fmt.Errorf("headrace: %w", err)
		}
	}

	if stage == "" {
		l.info.Workers = n
	}
	l.info.Stages = slices.Clone(l.info.Stages)
	for i := range l.info.Stages {
		if s := &l.info.Stages[i]; slices.Contains(names, s.Name) {
			s.Workers = n
		}
	}
	return nil
}

// stageOf is the name of a stage with workers that has a step of this name; else the
// name.
func (l *Loader) stageOf(name string) string {
	is := func(s Stage) bool { return s.Name == name }
	has := func(s Stage) bool { return slices.Contains(s.Steps, name) && l.adjustable(s.Name) == nil }
	if slices.ContainsFunc(l.info.Stages, is) {
		return name
	}
	if i := slices.IndexFunc(l.info.Stages, has); i >= 0 {
		return l.info.Stages[i].Name
	}
	return name
}

// adjustable is an error for a stage whose number of workers cannot be changed.
func (l *Loader) adjustable(stage string) error {
	all := slices.Concat(l.compiled.Computing, l.compiled.Reading, l.compiled.Calling)
	if slices.Contains(all, stage) {
		return nil
	}
	if slices.ContainsFunc(l.info.Stages, func(s Stage) bool { return s.Name == stage }) {
		return fmt.Errorf("the stage %s has one worker by its nature", stage)
	}
	return words.Unknown("stage", stage, all)
}

// staff gives a run that begins the numbers of workers that were set. The lock is held.
func (l *Loader) staff() error {
	for name, n := range l.workers {
		if err := l.run.SetWorkers(name, n); err != nil {
			return fmt.Errorf("headrace: %w", err)
		}
	}
	return nil
}
