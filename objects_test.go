//go:build cgo && !headrace_debug

package headrace_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	. "github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/sample"
)

// Objects pass between functions, by operations that do not look at them, and into
// batches, as the bytes that docs/protocol.md describes. None are held at the end.
func TestObjectsTravel(t *testing.T) {
	leak.Check(t)
	for _, gives := range []string{`,"gives":{"n":{"dtype":"int64"},"meta":"object"}`, ``} {
		for _, more := range []string{`,"workers":3`, `,"where":"thread","workers":2`, `,"workers":1`}[:tier.Cases(2, 3)] {
			steps := `{"source":{"function":"objects:Numbers","length":40}},{"map":{"function":"objects:wrap"` + gives + more + `}},
				{"map":{"function":"objects:told","fields":["meta"],"to":["told"],"gives":{"told":"text"}` + more + `}},{"batch":{"size":7}}`
			l := openObject(t, steps, Config{}, Options{})
			n := 0
			for b := range inEpoch(t, l) {
				if b.Text("meta") != nil || b.Objects("told") != nil {
					t.Error("text and objects are taken for each other")
				}
				blobs := b.Objects("meta")
				for i, told := range b.Text("told") {
					length := n * n * 10
					if want := fmt.Sprintf("dict %d %d None", length, n*length); told != want {
						t.Errorf("sample %d is told as %q, want %q", n, told, want)
					}
					// One array, its memory at the end and aligned.
					head := []byte(blobs[i])
					if buffers, bytes := binary.LittleEndian.Uint32(head), binary.LittleEndian.Uint64(head[16:]); buffers != 1 || bytes != uint64(8*length) || (len(head)-8*length)%64 != 0 {
						t.Errorf("sample %d has %d buffers, %d bytes", n, buffers, bytes)
					}
					n++
				}
			}
			if n != 40 {
				t.Errorf("%d samples came", n)
			}
			if f := l.Info().Fields; f[placeOf(f, "meta")].Kind != sample.Object {
				t.Errorf("%+v", f)
			}
			nothingHeld(t, l)
		}
	}
}

func placeOf(fields []Field, name string) int {
	for i, f := range fields {
		if f.Name == name {
			return i
		}
	}
	return -1
}
