package serve

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/wire"
)

// long is the text of a sample: of each size there are several in a row.
func long(i int) string {
	return strings.Repeat(string(rune('a'+i%26)), []int{10, 30_000, 9_000, 200_000}[i/16%4])
}

// texts opens a session whose batches of two have nothing but texts.
func texts(t *testing.T, n int) *client {
	var rows []string
	for i := range n {
		rows = append(rows, long(i))
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	paths := slices.Repeat([]string{file}, n)
	recipe, err := json.Marshal(map[string]any{"headrace": 1, "steps": []any{
		map[string]any{"files": map[string]any{"paths": paths, "content": false,
			"columns": map[string]any{"t": map[string]any{"text": rows}}}},
		map[string]any{"select": map[string]any{"fields": []string{"t"}}},
		map[string]any{"batch": map[string]any{"size": 2}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return open(t, string(recipe), `{"epochs":1,"prefetch":3}`)
}

// Long texts come beside the frame, in memory that is used again once it is given back;
// where none is, they come in the frame. Nothing depends on which it is.
func TestLongTextsComeBesideTheFrame(t *testing.T) {
	leak.Check(t)
	for name, givesBack := range map[string]bool{"given back": true, "held": false} {
		const n = 512
		c := texts(t, n)
		beside, slots := 0, map[wire.Slot]bool{}
		for i := 0; i < n; i += 2 {
			next := wire.Next{Waiting: true}
			b := c.batch()
			if want := []string{long(i), long(i + 1)}; !slices.Equal(b.Text[0], want) {
				t.Fatalf("%s: batch %d has other texts", name, i/2)
			}
			if large := len(long(i)) > leastBeside; b.Beside == nil && large && givesBack || b.Beside != nil && len(long(i)) < 4096 {
				t.Fatalf("%s: batch %d of 2 × %d bytes is beside the frame: %v", name, i/2, len(long(i)), b.Beside)
			}
			next.Taken = 1
			next.Released = append(next.Released, wire.Slot{Segment: b.Segment, Slot: b.Slot})
			if b.Beside != nil {
				beside++
				slots[b.Beside.Slot] = true
				if givesBack {
					next.Released = append(next.Released, b.Beside.Slot)
				}
			}
			c.next(next)
		}
		if givesBack && (len(slots) > 12 || beside < n/4) {
			t.Errorf("%s: %d batches were in %d slots", name, beside, len(slots))
		}
		if !givesBack && beside != len(slots) {
			t.Errorf("%s: %d batches were in %d slots: some were used again", name, beside, len(slots))
		}
	}
}

// A slot that is not the client's is refused, as that of a batch is.
func TestSlotsBesideAreGivenBackOnce(t *testing.T) {
	leak.Check(t)
	for name, slot := range map[string]func(wire.Slot) []wire.Slot{
		"twice":              func(s wire.Slot) []wire.Slot { return []wire.Slot{s, s} },
		"an unknown slot":    func(s wire.Slot) []wire.Slot { return []wire.Slot{{Segment: s.Segment, Slot: 1 << 20}} },
		"an unknown segment": func(s wire.Slot) []wire.Slot { return []wire.Slot{{Segment: 1<<32 - 1, Slot: 0}} },
	} {
		c := texts(t, 64)
		b := c.batch()
		for b.Beside == nil {
			c.next(wire.Next{Taken: 1, Released: []wire.Slot{{Segment: b.Segment, Slot: b.Slot}}})
			b = c.batch()
		}
		c.next(wire.Next{Taken: 1, Released: slot(b.Beside.Slot)})
		if e := c.failure(); e.Code != wire.CodeProtocol {
			t.Errorf("%s: %+v", name, e)
		}
		c.ended()
	}
}

// A stream that ends leaves slots with batches that nobody wants, which come back, too.
func TestSlotsBesideOfAStreamThatHasEnded(t *testing.T) {
	leak.Check(t)
	c := texts(t, 512)
	slots := map[wire.Slot]bool{}
	for range 40 {
		c.stream++
		c.send(wire.KindStart, wire.Start{State: json.RawMessage(`null`)})
		next := wire.Next{}
		for range 12 { // the first that is beside is the ninth
			f := c.expect(wire.KindBatch)
			b := c.parse(f)
			next.Released = append(next.Released, wire.Slot{Segment: b.Segment, Slot: b.Slot})
			if f.Stream == c.stream {
				next.Taken++
			}
			if b.Beside != nil {
				slots[b.Beside.Slot] = true
				next.Released = append(next.Released, b.Beside.Slot)
			}
			c.next(next)
			next = wire.Next{}
		}
	}
	if len(slots) == 0 || len(slots) > 12 {
		t.Errorf("%d slots were in use", len(slots))
	}
}
