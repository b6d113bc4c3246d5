package pipe

import "github.com/headrace/headrace/pipe/internal/failure"

// beginStages calls the hook for all stages.
func (e *engine) beginStages() {
	hook := e.hooks.Stage
	if hook == nil {
		return
	}
	for _, s := range e.stages {
		if len(s.Members) == 0 {
			continue // the beginning of a branch does nothing
		}
		err := failure.InOwnGoroutine(func() error { s.over = hook(StageInfo{s.name, s.kind, s.node.workers, s.from()}); return nil })
		if err != nil {
			e.Crash(&s.Origin, &HookError{Err: err})
		}
	}
}

// from are the names of the stages before: of a branch's first, the router.
func (s *stage) from() (names []string) {
	for _, up := range s.up {
		if len(up.Members) == 0 {
			names = append(names, up.from()...)
			continue
		}
		names = append(names, up.name)
	}
	return names
}

// endHook is called by the last of the stage's workers.
func (s *stage) endHook() {
	s.through.Store(&through{s.engine.Now(), s.Number.Load()})
	if s.over == nil {
		return
	}
	if err := failure.InOwnGoroutine(func() error { s.over(s.stats(s.engine.throughSince())); return nil }); err != nil {
		s.engine.endFailed(s, &HookError{Err: err})
	}
}
