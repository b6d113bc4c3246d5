package ops

import (
	"sync"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe/fuse"
)

// StepNames finds the names of steps by what they are called in random draws.
func StepNames(p fuse.Part) map[uint64]string {
	names := make(map[uint64]string, len(p.Names))
	for _, name := range p.Names {
		names[order.OpID(name)] = name
	}
	return names
}

// explain makes the plan of the steps on an image, and notes what they drew.
func (p *ImageSteps) explain(it *record.Record, t *core.Tool, info media.Info) error {
	draws, err := media.Explain(info, p.Steps.Decode, p.Steps.Steps, &t.Chance, &t.Plan)
	for _, d := range draws {
		it.Drew(p.Names[p.Steps.Steps[d.Step].ID], d.Values)
	}
	return err
}

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

// logDraws makes what the numbers of a step are noted in; nil where nobody wants to know.
func logDraws(w *core.Env, it *record.Record, step string) *drawLog {
	if !w.Ledger {
		return nil
	}
	l := &drawLog{values: map[string]any{"draws": []any{}}}
	it.Drew(step, l.values)
	return l
}
