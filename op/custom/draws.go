package custom

import (
	"sync"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
)

// drawLog are the numbers that an operation took. Copies of its Rand may be anywhere.
type drawLog struct {
	mu     sync.Mutex
	values map[string]any
}

func (l *drawLog) add(v any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.values["draws"] = append(l.values["draws"].([]any), v)
}

// logDraws returns the log for the numbers of a step; nil: there is no ledger.
func logDraws(w *core.Env, it *record.Record, step string) *drawLog {
	if !w.Ledger {
		return nil
	}
	l := &drawLog{values: map[string]any{"draws": []any{}}}
	it.Drew(step, l.values)
	return l
}
