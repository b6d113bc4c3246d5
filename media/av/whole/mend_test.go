package whole

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/headrace/headrace/media/av/heads"
)

// laces of a file, page by page.
func lacesOf(t *testing.T, file []byte) (all [][]byte) {
	t.Helper()
	for at := 0; at < len(file); {
		size, whole := heads.Page(file[at:])
		if !whole || !heads.Summed(file[at:at+size]) {
			t.Fatalf("the page at byte %d of %d is not whole", at, len(file))
		}
		all = append(all, file[at+27:][:file[at+26]])
		at += size
	}
	return all
}

// A page that is cut off has the packets instead that are there: those that end with less
// than 255 bytes.
func TestMendedPages(t *testing.T) {
	first, other := page(2, 1, 30), page(0, 1, 9, 8)
	last := page(4, 1, 10, 255, 5, 7, 255)
	head := 27 + 5
	file := slices.Concat(first, other, last)
	for cut, want := range map[int][]byte{
		1: nil, 26: nil, head: nil, head + 9: nil, // no packet
		head + 10: {10}, head + 10 + 259: {10},
		head + 10 + 260: {10, 255, 5},
		head + 277:      {10, 255, 5, 7}, head + 277 + 254: {10, 255, 5, 7},
	} {
		whole := bytes.Clone(file[:len(first)+len(other)+cut])
		made := Mended(whole)
		laces := [][]byte{{30}, {9, 8}}
		if want != nil {
			laces = append(laces, want)
		}
		if got := lacesOf(t, made); !slices.EqualFunc(got, laces, bytes.Equal) {
			t.Errorf("%d bytes of the page: %v", cut, got)
		}
		if at := len(first) + len(other); len(made) > at && made[at+5] != 0 {
			t.Errorf("%d bytes of the page: it has the flags %d", cut, made[at+5])
		}
		if !bytes.Equal(whole, file[:len(whole)]) {
			t.Errorf("%d bytes of the page: the file was changed", cut)
		}
	}
	for name, file := range map[string][]byte{
		"whole": file, "no page": []byte("OggS"), "cut first page": file[:20], "empty": nil, "other": []byte("RIFF....WAVE"),
		"bytes behind": append(slices.Clone(file), "OggS is a name"...),
	} {
		if made := Mended(file); made != nil {
			t.Errorf("%s: %d bytes", name, len(made))
		}
	}
	if cut := len(file) - 3; len(Mended(append(file[:len(first)-1:len(first)-1], file[len(first)+1:cut]...))) == cut {
		t.Error("damage")
	}
}

func TestMendedBlocks(t *testing.T) {
	block := func(n int) []byte {
		return slices.Concat([]byte("wvpk"), binary.LittleEndian.AppendUint32(nil, uint32(n)), make([]byte, n))
	}
	file := slices.Concat(block(30), block(40))
	for cut := range file {
		want := 0
		if cut > 38 {
			want = 38
		}
		if n := len(Mended(file[:cut])); n != want {
			t.Errorf("%d bytes: %d are left, and %d should be", cut, n, want)
		}
	}
	if Mended(file) != nil || Mended(append(file, "TAG"...)) != nil {
		t.Error("a file that is whole is mended")
	}
}

// Mended files of Ogg end between pages, and are no longer than they were.
func FuzzMended(f *testing.F) {
	file := slices.Concat(page(2, 1, 30), page(4, 1, 10, 255, 5, 7, 255))
	f.Add(file[:len(file)-3])
	f.Add(append(page(2, 1, 30), "OggS\x04 of another version, which is no page that is known"...))
	f.Add([]byte("wvpk\x02\x00\x00\x00abwvpk"))
	f.Fuzz(func(t *testing.T, b []byte) {
		made := Mended(b)
		if len(made) > len(b) {
			t.Fatalf("%d bytes become %d", len(b), len(made))
		}
		if made != nil && Mended(made) != nil {
			t.Fatalf("%q is mended, and is not whole", made)
		}
	})
}
