package batch

import (
	"sync"

	"github.com/headrace/headrace/sample"
)

// text is a field of text or objects of a batch: by rows, or, if columns were filled,
// packed until a row is asked for. Nothing is done for each row then.
type text struct {
	rowValues[string]
	mu     sync.Mutex
	packed sample.Texts
}

func newText(rows int) *text { return &text{rowValues: rowValues[string]{rows: rows}} }

// pack sets all rows. It takes the memory of all, and gives other memory for it.
func (t *text) pack(all *sample.Texts) {
	t.packed, *all = *all, t.packed
	all.Reset()
}

// set copies bytes into a row: of a batch of one row into its own memory, as there may be
// thousands of such batches a second.
func (t *text) set(row int, b []byte) {
	if t.rows > 1 {
		*t.at(row) = string(b)
		return
	}
	t.packed.Reset()
	t.packed.Add(b)
}

// copy sets all rows to those of another field, which are packed.
func (t *text) copy(of *text) { t.packed.Set(&of.packed) }

// unpack has a string for each row. One has the bytes of all of them.
func (t *text) unpack() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.packed.Spell()
	whole, from := string(t.packed.Bytes), 0
	for row, end := range t.packed.Ends {
		*t.at(row) = whole[from:end]
		from = end
	}
	t.packed.Reset()
}

// first returns the values of the first rows, as that of rowValues does.
func (t *text) first(rows int) []string {
	t.unpack()
	return t.rowValues.first(rows)
}

// take has a row be as one of another field is.
func (t *text) take(row int, of *text, from int) {
	t.unpack()
	of.unpack()
	t.rowValues.take(row, &of.rowValues, from)
}

// size returns how many bytes the first rows have.
func (t *text) size(rows int) (n int) {
	if t.packed.Len() > 0 {
		return t.packed.Size()
	}
	for _, s := range t.rowValues.first(rows) {
		n += len(s)
	}
	return n
}

// clear empties all rows. Their memory is kept for the next ones, unless a large one
// needed it.
func (t *text) clear() {
	t.rowValues.clear()
	t.packed.Reset()
	if t.rows == 1 && cap(t.packed.Bytes) > mostKept {
		t.packed.Bytes = nil
	}
}

// mostKept is the most memory that a batch of one row keeps.
const mostKept = 1 << 20
