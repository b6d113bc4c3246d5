package serve

import (
	"encoding/binary"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/wire"
)

// newPage returns a crash page, and the client's view of the same memory.
func newPage(t *testing.T) (*page, []byte) {
	t.Helper()
	fd, err := unix.MemfdCreate("page", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if _, err := mapPage(fd); err == nil {
		t.Fatal("a page without memory was taken")
	}
	if err := unix.Ftruncate(fd, pageSize); err != nil {
		t.Fatal(err)
	}
	p, err := mapPage(fd)
	if err != nil {
		t.Fatal(err)
	}
	view, err := unix.Mmap(fd, 0, pageSize, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		unix.Munmap(p.memory)
		unix.Munmap(view)
	})
	if string(view[:8]) != "HRPAGE01" {
		t.Fatalf("the page begins with %q", view[:8])
	}
	return p, view
}

func TestACellNamesItsSample(t *testing.T) {
	p, view := newPage(t)
	w := cellWriter{page: p, session: 3, stream: 4}
	long := strings.Repeat("folder/", 100) + "x.jpg"
	for _, key := range []string{"", "a.jpg", long[len(long)-216:], long} {
		for _, cell := range []int{0, 17, 255} {
			w.Begin(cell, sample.ID{Epoch: 5, Pos: 6, Index: 1 << 40}, key)
			c := view[4096+256*cell:][:256]
			le := binary.LittleEndian
			n := le.Uint32(c[12:])
			if le.Uint32(c) != 1 || le.Uint32(c[4:]) != 3 || le.Uint32(c[8:]) != 4 || le.Uint64(c[16:]) != 5 || le.Uint64(c[24:]) != 6 || le.Uint64(c[32:]) != 1<<40 {
				t.Fatalf("cell %d holds % x", cell, c[:40])
			}
			if got := string(c[40:][:n]); len(key) <= 216 && got != key || !strings.HasSuffix(key, got) || int(n) != min(len(key), 216) {
				t.Fatalf("the key %q is noted as %q", key, got)
			}
			if w.End(cell); le.Uint32(c) != 0 {
				t.Fatal("a cell stays filled")
			}
		}
	}
	// There is no such cell, and nothing must be written elsewhere.
	before := string(view)
	for _, cell := range []int{-1, 256, 1 << 20} {
		w.Begin(cell, sample.ID{}, "x")
		w.End(cell)
	}
	if string(view) != before {
		t.Fatal("a cell that is none was written")
	}
}

// What is in the cells afterwards is what was in flight: the decoder in Go is
// in for C.
func TestThePageNamesWhatIsInFlight(t *testing.T) {
	leak.Check(t)
	p, view := newPage(t)
	h := startWith(t, &engine{ioEngine: ioEngine{gate: headrace.NewGate(), cpus: 2, page: p}})
	recipe := recipeFor(phototest.Folder(t, 40))
	h.open(recipe, `{"epochs":1}`).epoch()
	c := h.open(recipe, `{"epochs":3,"workers":4}`)
	c.stream = 7
	c.send(wire.KindStart, map[string]any{"state": map[string]any{"epoch": 2}})
	for f := c.receive(); f.Kind != wire.KindEpoch || f.Stream != 7; f = c.receive() {
		if f.Kind == wire.KindBatch {
			b := c.parse(f)
			n := wire.Next{Released: []wire.Slot{{Segment: b.Segment, Slot: b.Slot}}}
			if f.Stream == 7 {
				n.Taken = 1
			}
			c.next(n)
		}
	}
	filled := 0
	for cell := range cells {
		c, le := view[4096+256*cell:], binary.LittleEndian
		if le.Uint32(c) != 0 {
			t.Errorf("cell %d is filled, and nothing is in flight", cell)
		}
		if session := le.Uint32(c[4:]); session != 0 {
			filled++
		}
		if le.Uint32(c[4:]) == 2 && le.Uint32(c[8:]) == 7 && (le.Uint64(c[16:]) != 2 || le.Uint64(c[24:]) >= 40 || !strings.HasSuffix(string(c[40:][:le.Uint32(c[12:])]), ".jpg")) {
			t.Errorf("cell %d: % x", cell, c[:256])
		}
	}
	if c := view[4096:]; filled == 0 || binary.LittleEndian.Uint32(c[8:]) != 7 {
		t.Errorf("%d cells were in use; the first last by stream %d", filled, binary.LittleEndian.Uint32(c[8:]))
	}
}

// The log is a ring: it stays within its limit, and what is written last is right
// before the offset, which the client shares.
func TestLastWordsEndAtTheOffset(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "words")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	words := &lastWords{file: file}
	for i := range 3000 {
		line := strings.Repeat("x", 50+i%100) + "\n"
		if n, err := words.Write([]byte(line)); err != nil || n != len(line) {
			t.Fatal(n, err)
		}
		at, _ := file.Seek(0, 1)
		got := make([]byte, len(line))
		if file.ReadAt(got, at-int64(len(line))); string(got) != line {
			t.Fatalf("line %d does not stand before the offset", i)
		}
	}
	if st, _ := file.Stat(); st.Size() > lastWordsLimit {
		t.Fatalf("%d bytes were written", st.Size())
	}
}
