package headrace

import (
	"iter"
	"sync"

	"headrace/internal/record"
	"headrace/media"
	"headrace/order"
	"headrace/recipe/fuse"
)

type (
	// Lost is a sample that failed under a policy that tolerates it.
	Lost = record.Lost
	// Origin says which sample a row of a batch holds. A loader whose [Options] ask for a Ledger knows that of every row.
	Origin = record.Origin
	// Draw is what a step drew for one sample.
	Draw = record.Draw
)

// Origins yields the samples of a batch, each with its row, in their order: several of one row where they are packed, and of a batch that a function has made whole each with its
// place in the list that this was given. It is nil where the loader keeps no
// ledger.
func (b *Batch) Origins() iter.Seq2[int, record.Origin] {
	if b.origins == nil {
		return nil
	}
	return func(yield func(int, record.Origin) bool) {
		for i, row := range b.origins.first(b.rows) {
			for k, o := range row {
				if b.slots.layout.whole {
					i = k
				}
				if !yield(i, o) {
					return
				}
			}
		}
	}
}

// stepNames finds the names of steps by what they are called in random draws.
func stepNames(p fuse.Part) map[uint64]string {
	names := make(map[uint64]string, len(p.Names))
	for _, name := range p.Names {
		names[order.OpID(name)] = name
	}
	return names
}

// explain makes the plan of the steps on an image, and notes what they drew.
func (p *images) explain(it *record.Record, t *tool, info media.Info) error {
	draws, err := media.Explain(info, p.what.Decode, p.what.Steps, &t.chance, &t.plan)
	for _, d := range draws {
		it.Drew(p.names[p.what.Steps[d.Step].ID], d.Values)
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
func (w *work) logDraws(it *record.Record, step string) *drawLog {
	if !w.ledger {
		return nil
	}
	l := &drawLog{values: map[string]any{"draws": []any{}}}
	it.Drew(step, l.values)
	return l
}
