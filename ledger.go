package headrace

import (
	"iter"
	"sync"

	"headrace/media"
	"headrace/order"
	"headrace/recipe/fuse"
	"headrace/sample"
)

// Origin says which sample lies in a row of a batch. A loader whose Options ask for a Ledger knows that of every row.
type Origin struct {
	ID       sample.ID
	Key      string
	Draws    []Draw // what random operations drew for it, in the order in which they ran
	Replaced *Lost  // the sample in whose place this one came; nil: it is its own
}

// Draw is what a step drew for one sample. Of an operation on images Values are those of [media.Draw]; of an operation that a program has registered it is the list
// "draws", all numbers that it took from its [Rand], in their order.
type Draw struct {
	Step   string
	Values map[string]any
}

// Origins yields the samples of a batch, each with its row, in their order: several of one row where they are packed, and of a batch that a function has made whole each with its
// place in the list that this was given. It is nil where the loader keeps no
// ledger.
func (b *Batch) Origins() iter.Seq2[int, Origin] {
	if b.origins == nil {
		return nil
	}
	return func(yield func(int, Origin) bool) {
		for i, row := range b.origins[:b.rows] {
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

func (it *item) origin() Origin {
	return Origin{ID: it.id, Key: it.key, Draws: it.draws, Replaced: it.replaced}
}

// drew notes what a step drew. Where it has to try again, the last time counts.
func (it *item) drew(step string, values map[string]any) {
	for i := range it.draws {
		if it.draws[i].Step == step {
			it.draws[i].Values = values
			return
		}
	}
	it.draws = append(it.draws, Draw{step, values})
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
func (p *images) explain(it *item, t *tool, info media.Info) error {
	draws, err := media.Explain(info, p.what.Decode, p.what.Steps, &t.chance, &t.plan)
	for _, d := range draws {
		it.drew(p.names[p.what.Steps[d.Step].ID], d.Values)
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
func (w *work) logDraws(it *item, step string) *drawLog {
	if !w.ledger {
		return nil
	}
	l := &drawLog{values: map[string]any{"draws": []any{}}}
	it.drew(step, l.values)
	return l
}
