package mp4

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/testvideo"
	"github.com/headrace/headrace/media/av"
)

// read reads all that there is to read, and checks what holds of any file.
func read(t testing.TB, data []byte) error {
	t.Helper()
	f, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return blamed(t, err)
	}
	for i := range f.Streams {
		table, err := f.Table(i)
		if err != nil {
			blamed(t, err)
			continue
		}
		if n := int64(len(table.Packets)); n > packetsOf(int64(len(data))) {
			t.Fatalf("%d packets in a file of %d bytes", n, len(data))
		}
		for _, p := range table.Packets {
			if p.Offset < 0 || p.Size < 0 || p.End() < 0 {
				t.Fatalf("%+v", p)
			}
		}
		if n := table.Line.Len(); n > 0 {
			table.Runs([]int{0, n / 2, n - 1})
		}
	}
	return nil
}

// blamed checks that an error says which package it comes from, and what it means.
func blamed(t testing.TB, err error) error {
	t.Helper()
	if s := err.Error(); !strings.HasPrefix(s, "mp4: ") && !strings.HasPrefix(s, "av: ") {
		t.Errorf("the error %q does not say who speaks", s)
	}
	return err
}

// Any byte of the boxes may be wrong.
func TestDamagedFiles(t *testing.T) {
	files := map[string][]byte{
		"made": movieOf(100, map[string][]byte{"edts": edits(50, -1, 80, 10)}),
		"frag": testvideo.Read(t, "frag.mp4"), "sound": testvideo.Read(t, "sound.mp4"),
	}
	step := 1
	if testing.Short() {
		step = 7
	}
	for name, data := range files {
		if err := read(t, data); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		data = withoutMedia(data)
		first := max(0, bytes.Index(data, []byte("moov"))-40)
		for i := first; i < min(len(data), first+2400); i += step {
			for _, c := range []byte{0xff, data[i] + 1} {
				harmed := bytes.Clone(data)
				harmed[i] = c
				read(t, harmed)
			}
		}
		for n := 0; n < len(data); n += 1 + n/200 {
			read(t, data[:n])
		}
	}
}

// A few bytes that claim a lot are refused, at no cost.
func TestClaimsAreChecked(t *testing.T) {
	const all = -1 // as a number without a sign, more than four billion
	run := func(values ...any) []byte {
		moof := atom("moof", atom("traf", atom("tfhd", 0, 1), atom("trun", values...)))
		data := movieOf(100, map[string][]byte{"stsz": atom("stsz", 0, 0, 0), "stps": atom("free")})
		at := bytes.LastIndex(data, []byte("moov"))
		mvex := atom("mvex", atom("trex", 0, 1, 1, 10, 1, 0))
		size := len(data) - (at - 4) + len(mvex)
		return parts(data[:at-4], size, data[at:], mvex, moof)
	}
	for name, data := range map[string][]byte{
		"sizes of one value": movieOf(100, map[string][]byte{"stsz": atom("stsz", 0, 1, all)}),
		"sizes":              movieOf(100, map[string][]byte{"stsz": atom("stsz", 0, 0, all)}),
		"small sizes":        movieOf(100, map[string][]byte{"stsz": atom("stz2", 0, 4, all)}),
		"times":              movieOf(100, map[string][]byte{"stts": atom("stts", 0, all, 1, 1)}),
		"offsets":            movieOf(100, map[string][]byte{"stco": atom("stco", 0, all, 1)}),
		"keys":               movieOf(100, map[string][]byte{"stss": atom("stss", 0, all, 1)}),
		"edits":              movieOf(100, map[string][]byte{"edts": atom("edts", atom("elst", 0, all, 1))}),
		"run":                run(0, all),
		"run with sizes":     run(0x200, all),
		"many boxes":         parts(atom("ftyp", "isom"), bytes.Repeat(atom("free"), 100_000)),
		"many tracks":        parts(atom("ftyp", "isom"), atom("moov", bytes.Repeat(atom("trak", atom("mdia")), 100_000))),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f, err := Open(bytes.NewReader(data), int64(len(data)))
		if err == nil {
			_, err = f.Table(0)
		}
		runtime.ReadMemStats(&after)
		if !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v, want an error", name, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > uint64(len(data))+1<<20 {
			t.Errorf("%s: %d bytes were allocated for a file of %d", name, used, len(data))
		}
	}
}

// Errors say which box is wrong, and where.
func TestErrors(t *testing.T) {
	made := func(boxes map[string][]byte) []byte { return movieOf(100, boxes) }
	for _, of := range []struct {
		data []byte
		want string
		is   error
	}{
		{nil, `mp4: the file has no moov box: it is truncated, or its writer did not finish it`, ErrFormat},
		{[]byte("RIFF....WAVEfmt "), `mp4: the file begins with "...."`, ErrFormat},
		{made(nil)[:1700], `mp4: box "moov" at byte 1204 is cut off by the end of the file`, ErrFormat},
		{made(map[string][]byte{"stts": atom("stts", 0, 9, 12, 10)}), `mp4: box "stts" at byte 1611 says it has 9 entries of 8 bytes, but has 8 bytes`, ErrFormat},
		{made(map[string][]byte{"stts": atom("stts", 0, 1, 11, 10)}), `mp4: box "stts" at byte 1611 has times for 11 samples of 12`, ErrFormat},
		{made(map[string][]byte{"stss": atom("stss", 0, 1, 13)}), `has sample 13 of 12`, ErrFormat},
		{made(map[string][]byte{"mvhd": atom("cmov")}), `mp4: box "cmov" at byte 1212 is a compressed index: not supported`, ErrUnsupported},
	} {
		f, err := Open(bytes.NewReader(of.data), int64(len(of.data)))
		if err == nil {
			_, err = f.Table(0)
		}
		if !errors.Is(err, of.is) || !strings.Contains(fmt.Sprint(err), of.want) {
			t.Errorf("%v, want %q", err, of.want)
		}
	}
	f := open(t, testvideo.File(t, "bpyr.mp4"))
	if _, err := f.Table(1); err == nil {
		t.Error("a stream that is not there has a table")
	}
}

// A file that was cut still has its index: packets that are gone are found by their
// place.
func TestTruncatedFiles(t *testing.T) {
	data := testvideo.Read(t, "front.mp4")
	data = data[:len(data)*6/10]
	f, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	table := table(t, f, 0)
	if err := table.CheckWithin(0, 5, int64(len(data))); err != nil {
		t.Error(err)
	}
	if err := table.CheckWithin(0, len(table.Packets)-1, int64(len(data))); !errors.Is(err, av.ErrTruncated) {
		t.Errorf("%v, want an error", err)
	}

	// A fragment of which the index itself is cut: those before it are there, and the
	// file says that it may end after any.
	data = testvideo.Read(t, "frag.mp4")
	data = data[:bytes.LastIndex(data, []byte("trun"))]
	data = data[:bytes.LastIndex(data, []byte("moof"))+40]
	if f, err = Open(bytes.NewReader(data), int64(len(data))); err != nil || !f.Fragmented() {
		t.Errorf("%v, want fragments", err)
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(movieOf(100, map[string][]byte{"edts": edits(50, -1, 80, 10)}))
	for _, name := range []string{"frag.mp4", "fragedit.mp4", "cut.mp4", "sound.mp4", "alac.m4a", "pcm.mov", "av1.mp4", "hevc.mp4", "vp9.mp4"} {
		f.Add(withoutMedia(testvideo.Read(f, name)))
	}
	f.Fuzz(func(t *testing.T, data []byte) { read(t, data) })
}

// withoutMedia returns a file whose mdat boxes are empty, since nobody reads them.
func withoutMedia(data []byte) []byte {
	var kept []byte
	for len(data) >= 8 {
		size, _, err := header(data, int64(len(data)))
		if err != nil {
			break
		}
		if string(data[4:8]) == "mdat" {
			kept = append(kept, atom("mdat")...)
		} else {
			kept = append(kept, data[:size]...)
		}
		data = data[size:]
	}
	return kept
}
