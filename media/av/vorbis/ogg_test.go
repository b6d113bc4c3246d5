package vorbis

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
)

// bits writes numbers with their first bit lowest.
type bits struct {
	b []byte
	n int
}

func (w *bits) put(v uint64, n int) {
	for i := range n {
		if w.n%8 == 0 {
			w.b = append(w.b, 0)
		}
		w.b[w.n/8] |= byte(v>>i&1) << (w.n % 8)
		w.n++
	}
}

// heads are the three headers of a stream with blocks of 256 and 2048 samples: mode 0 is
// short, mode 1 long.
func heads() [3][]byte {
	id := append([]byte("\x01vorbis"), make([]byte, 23)...)
	id[28], id[29] = 0xB8, 1
	w := bits{b: append([]byte("\x05vorbis"), make([]byte, 400)...)}
	w.n = 8 * len(w.b)
	w.put(1, 6) // two modes
	for _, long := range []uint64{0, 1} {
		w.put(long, 1)
		w.put(0, 40)
	}
	w.put(1, 1)
	return [3][]byte{id, []byte("\x03vorbis and more"), w.b}
}

// A packet of a page: of which mode, and how long it is.
type packet struct{ mode, size int }

func (p packet) bytes() []byte {
	b := make([]byte, p.size)
	b[0] = byte(p.mode << 1)
	return b
}

// ogg makes a page; open: its last packet goes on in the next.
func ogg(serial, flags, granule int, open bool, packets ...[]byte) []byte {
	var lacing, body []byte
	for i, p := range packets {
		body = append(body, p...)
		n := len(p)
		for ; n >= 255; n -= 255 {
			lacing = append(lacing, 255)
		}
		if !open || i < len(packets)-1 {
			lacing = append(lacing, byte(n))
		}
	}
	b := append([]byte("OggS\x00"), byte(flags))
	b = binary.LittleEndian.AppendUint64(b, uint64(granule))
	b = binary.LittleEndian.AppendUint32(b, uint32(serial))
	b = append(append(b, make([]byte, 8)...), byte(len(lacing)))
	return append(append(b, lacing...), body...)
}

func headed(serial int) []byte {
	h := heads()
	return slices.Concat(ogg(serial, first, 0, false, h[0]), ogg(serial, 0, 0, false, h[1], h[2]))
}

func places(file []byte, nth int) (all []Place) {
	p := PlacesOf(bytes.NewReader(file), int64(len(file)), nth)
	for {
		place, ok := p.Next()
		if !ok {
			return all
		}
		all = append(all, place)
	}
}

// Blocks of 256 after each other give 128 samples, long ones 1024, and between both 576.
func TestPages(t *testing.T) {
	short, long := packet{0, 30}.bytes(), packet{1, 600}.bytes()
	none := -1
	for name, c := range map[string]struct {
		file []byte
		nth  int
		want []Place
	}{
		"one page, cut at its end": {
			slices.Concat(headed(7), ogg(7, last, 200, false, short, short, short)), 0,
			[]Place{{30, 0, 0, 0, 0}, {30, 0, 128, 0, 0}, {30, 128, 72, 0, 56}},
		},
		"more is cut than the last packet has": {
			slices.Concat(headed(7), ogg(7, last, 100, false, short, short, short)), 0,
			[]Place{{30, 0, 0, 0, 0}, {30, 0, 100, 0, 28}, {30, 128, 0, 0, 128}},
		},
		"two pages": {
			slices.Concat(headed(7), ogg(7, 0, 128, false, short, short), ogg(7, last, 700, false, long)), 0,
			[]Place{{30, 0, 0, 0, 0}, {30, 0, 128, 0, 0}, {600, 128, 572, 0, 4}},
		},
		"a packet in two pages": {
			slices.Concat(headed(7), ogg(7, 0, 0, true, short, long[:510]), ogg(7, continues|last, 576, false, long[510:])), 0,
			[]Place{{30, 0, 0, 0, 0}, {600, 0, 576, 0, 0}},
		},
		"a page that says nothing": {
			slices.Concat(headed(7), ogg(7, 0, none, false, short, short), ogg(7, last, 250, false, short)), 0,
			[]Place{{30, 0, 0, 0, 0}, {30, 0, 128, 0, 0}, {30, 128, 122, 0, 6}},
		},
		"begins late": {
			slices.Concat(headed(7), ogg(7, 0, 1128, false, short, short), ogg(7, last, 1256, false, short)), 0,
			[]Place{{30, 1000, 0, 0, 0}, {30, 1000, 128, 0, 0}, {30, 1128, 128, 0, 0}},
		},
		"begins before its first sample": {
			slices.Concat(headed(7), ogg(7, 0, 100, false, short, short), ogg(7, last, 228, false, short)), 0,
			[]Place{{30, -28, 0, 0, 0}, {30, -28, 128, 28, 0}, {30, 100, 128, 0, 0}},
		},
		"one after the other": {
			slices.Concat(headed(7), ogg(7, last, 100, false, short, short), headed(8), ogg(8, last, 90, false, short, short)), 0,
			[]Place{{30, 0, 0, 0, 0}, {30, 0, 100, 0, 28}, {30, 0, 0, 0, 0}, {30, 0, 90, 0, 38}},
		},
		"the second of two": {
			slices.Concat(ogg(7, first, 0, false, heads()[0]), ogg(8, first, 0, false, heads()[0]), ogg(9, first, 0, false, []byte("OpusHead")),
				ogg(7, 0, 0, false, heads()[1], heads()[2]), ogg(8, 0, 0, false, heads()[1], heads()[2]),
				ogg(7, last, 100, false, short, short), ogg(8, last, 500, false, short, long)), 1,
			[]Place{{30, 0, 0, 0, 0}, {600, 0, 500, 0, 76}},
		},
		"cut within a page": {
			slices.Concat(headed(7), ogg(7, 0, 128, false, short, short), ogg(7, last, 700, false, long)[:300]), 0,
			[]Place{{30, 0, 0, 0, 0}, {30, 0, 128, 0, 0}},
		},
		"no end":         {slices.Concat(headed(7), ogg(7, 0, none, false, short, short)), 0, []Place{{30, 0, 0, 0, 0}, {30, 0, 128, 0, 0}}},
		"not Vorbis":     {ogg(9, first, 0, false, []byte("OpusHead")), 0, nil},
		"not Ogg":        {[]byte("something else that is no Ogg"), 0, nil},
		"wrong headers":  {slices.Concat(ogg(7, first, 0, false, heads()[0]), ogg(7, 0, 0, false, short, short, short)), 0, nil},
		"no such stream": {headed(7), 3, nil},
	} {
		if got := places(c.file, c.nth); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %v\nwant %v", name, got, c.want)
		}
	}
}

func FuzzPages(f *testing.F) {
	short := packet{0, 30}.bytes()
	f.Add(slices.Concat(headed(7), ogg(7, 0, 128, false, short, short), ogg(7, last, 200, false, short)))
	f.Fuzz(func(t *testing.T, file []byte) {
		total := 0
		for _, p := range places(file, 0) {
			total += p.Size
			if p.Skip < 0 || p.Cut < 0 || p.Lasts < 0 {
				t.Errorf("%+v", p)
			}
		}
		if total > len(file) {
			t.Errorf("packets of %d bytes in %d", total, len(file))
		}
	})
}
