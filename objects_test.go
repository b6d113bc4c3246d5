//go:build cgo && !headrace_debug

package headrace

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"headrace/internal/leak"
	"headrace/recipe"
	"headrace/sample"
)

// Objects pass between functions, by operations that do not look at them, and into batches, as the bytes that docs/protocol.md describes. None are held at the end.
func TestObjectsTravel(t *testing.T) {
	leak.Check(t)
	for _, gives := range []string{`,"gives":{"n":{"dtype":"int64"},"meta":"object"}`, ``} {
		for _, more := range []string{`,"workers":1`, `,"workers":3`, `,"where":"thread","workers":2`} {
			steps := `{"source":{"function":"objects:Numbers","length":40}},{"map":{"function":"objects:wrap"` + gives + more + `}},
				{"map":{"function":"objects:told","fields":["meta"],"to":["told"],"gives":{"told":"text"}` + more + `}},{"batch":{"size":7}}`
			l := openObject(t, steps, Config{}, Options{})
			n := 0
			for b, err := range l.All(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
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
				b.Release()
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

// Each sample that a function makes of another has the objects that pass by it.
func TestObjectsPassByGenerators(t *testing.T) {
	leak.Check(t)
	steps := `{"source":{"function":"objects:Numbers","length":12}},{"map":{"function":"objects:wrap"}},{"flat_map":{"function":"objects:several","fields":["n"]}},
		{"map":{"function":"objects:told","fields":["meta"],"to":["told"],"gives":{"told":"text"}}},{"batch":{"size":5}}`
	l := openObject(t, steps, Config{}, Options{})
	var want, got []string
	for n := range 12 {
		for range n % 3 {
			want = append(want, fmt.Sprintf("dict %d %d None", n*n*10, n*n*n*10))
		}
	}
	for b, err := range l.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, b.Text("told")...)
		b.Release()
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q, want %q", got, want)
	}
	nothingHeld(t, l)
}

// Rows of several samples have no place for objects.
func TestObjectsAreNotPacked(t *testing.T) {
	r := recipe.Recipe{Steps: parseRecipe(t, `{"source":{"function":"m:o","length":3,"gives":{"x":{"dtype":"int64","shape":[null]},"meta":"object"}}},{"pack":{"length":8,"size":2}}`).Steps}
	if _, err := r.Check(); err == nil || !strings.Contains(err.Error(), `cannot pack the field "meta", which is an object: a row has several samples`) {
		t.Error(err)
	}
}
