package mp4

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/testvideo"
	"github.com/headrace/headrace/media/av"
)

// parts puts boxes together: numbers by their width, texts as they are.
func parts(values ...any) []byte {
	var b []byte
	for _, v := range values {
		switch v := v.(type) {
		case string:
			b = append(b, v...)
		case []byte:
			b = append(b, v...)
		case int:
			b = binary.BigEndian.AppendUint32(b, uint32(v))
		default:
			b, _ = binary.Append(b, binary.BigEndian, v) // of numbers only
		}
	}
	return b
}

func atom(kind string, values ...any) []byte {
	body := parts(values...)
	return parts(8+len(body), kind, body)
}

// movieOf makes a file of 12 samples in groups of six, of a codec that nobody parses;
// with other boxes in place of some, or beside them.
func movieOf(scale int, boxes map[string][]byte) []byte {
	data := make([]byte, 1200)
	sample := func(kind string, values ...any) []byte {
		if b, ok := boxes[kind]; ok {
			return b
		}
		return atom(kind, values...)
	}
	turn := parts(1<<16, 0, 0, 0, 1<<16, 0, 0, 0, 1<<30)
	entry := atom("FFV1", make([]byte, 6), uint16(1), make([]byte, 16), uint16(64), uint16(48), 72<<16, 72<<16, 0, uint16(1), make([]byte, 32), uint16(24), int16(-1))
	ftyp := atom("ftyp", "isom", 0, "isom")
	tables := []any{
		atom("stsd", 0, 1, entry),
		sample("stts", 0, 1, 12, 10),
		sample("ctts", 0, 12, 1, 10, 1, 30, 1, 0, 1, 0, 1, 20, 1, 0, 1, 10, 1, 30, 1, 0, 1, 0, 1, 20, 1, 0),
		sample("stsc", 0, 2, 1, 5, 1, 2, 1, 1),
		sample("stsz", 0, 100, 12),
		sample("stco", 0, 8, 32, 532, 632, 732, 832, 932, 1032, 1132),
		sample("stss", 0, 2, 1, 7),
		boxes["sbgp"], boxes["stps"],
	}
	moov := atom("moov",
		sample("mvhd", 0, 0, 0, scale, 120, 1<<16, uint16(256), make([]byte, 10), turn, make([]byte, 24), 2),
		atom("trak",
			sample("tkhd", 3, 0, 0, 1, 0, 120, make([]byte, 16), turn, 64<<16, 48<<16),
			boxes["edts"],
			atom("mdia", atom("mdhd", 0, 0, 0, 100, 120, uint16(0x55c4), uint16(0)), atom("hdlr", 0, 0, "vide", make([]byte, 13)),
				atom("minf", atom("stbl", tables...))),
		))
	return parts(ftyp, sample("free", data[:1200-8-16]), moov)
}

func edits(list ...int) []byte {
	values := []any{0, len(list) / 2}
	for i := 0; i < len(list); i += 2 {
		values = append(values, list[i], list[i+1], 1<<16)
	}
	return atom("edts", atom("elst", values...))
}

// Files that ffmpeg does not write are read as ffprobe does.
func TestMadeFilesEqualFFprobe(t *testing.T) {
	for name, boxes := range map[string]map[string][]byte{
		"plain":           {},
		"one edit":        {"edts": edits(80, 30)},
		"later":           {"edts": edits(50, -1, 80, 10)},
		"two edits":       {"edts": edits(30, 10, 30, 70)},
		"again":           {"edts": edits(30, 70, 30, 10)},
		"off the grid":    {"edts": edits(63, 25)},
		"ends early":      {"edts": edits(35, 10)},
		"stz2 of 8 bits":  {"stsz": atom("stz2", 0, 8, 12, "abcdefghijkl")},
		"stz2 of 16 bits": {"stsz": atom("stz2", 0, 16, 12, 0x10002, 0x30004, 0x50006, 0x70008, 0x9000a, 0xb000c)},
		"stz2 of 4 bits":  {"stsz": atom("stz2", 0, 4, 12, "\x12\x34\x56\x78\x9a\xbc")},
		"co64":            {"stco": atom("co64", 0, 8, int64(32), int64(532), int64(632), int64(732), int64(832), int64(932), int64(1032), int64(1132))},
		"negative":        {"ctts": atom("ctts", 1<<24, 4, 3, 0, 3, -10, 3, 0, 3, -10)},
		"partial sync":    {"stps": atom("stps", 0, 1, 4)},
		"random access":   {"sbgp": atom("sbgp", 0, "rap ", 3, 3, 0, 1, 1, 8, 0)},
		"all key":         {"stss": nil},
		"variable":        {"stts": atom("stts", 0, 3, 4, 7, 4, 13, 4, 10)},
	} {
		data := movieOf(100, boxes)
		path := filepath.Join(t.TempDir(), "made.mp4")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		probed := testvideo.ProbeFile(t, path)
		if name == "two edits" || name == "again" {
			compareShown(t, name, f, probed) // of what is discarded, ffmpeg has more
			if n := table(t, f, 0).Reorder; n != 1 {
				t.Errorf("%s: a decoder holds back %d frames, want 1 as without edits", name, n)
			}
			continue
		}
		comparePackets(t, name, f, probed)
	}
}

// compareShown compares what is displayed, and when.
func compareShown(t *testing.T, name string, f *File, probed *testvideo.Probed) {
	t.Helper()
	var got, want []string
	for _, p := range table(t, f, 0).Packets {
		if !p.Discard {
			got = append(got, fmt.Sprintf("at %d, pts %d", p.Offset, p.PTS))
		}
	}
	for _, p := range probed.Packets {
		if !strings.Contains(p.Flags, "D") {
			want = append(want, fmt.Sprintf("at %s, pts %d", p.Pos, *p.PTS))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %v\nwant %v", name, got, want)
	}
}

// The eight ways that a matrix can turn a frame, in the order of EXIF's numbers.
func TestOrientations(t *testing.T) {
	one, none := 1<<16, 0
	for i, m := range [][4]int{
		{one, none, none, one}, {-one, none, none, one}, {-one, none, none, -one}, {one, none, none, -one},
		{none, one, one, none}, {none, one, -one, none}, {none, -one, -one, none}, {none, -one, one, none},
	} {
		turn := parts(m[0], m[1], 0, m[2], m[3], 0, 0, 0, 1<<30)
		data := movieOf(100, map[string][]byte{"tkhd": atom("tkhd", 3, 0, 0, 1, 0, 120, make([]byte, 16), turn, 64<<16, 48<<16)})
		f, err := Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		s := f.Streams[0]
		if s.Orientation != av.Orientation(i+1) {
			t.Errorf("%v is orientation %d, want %d", m, s.Orientation, i+1)
		}
		if s.Orientation.Swaps() != (i >= 4) || s.Width != 64 || s.Height != 48 {
			t.Errorf("%v of %d×%d is turned: %v", m, s.Width, s.Height, s.Orientation.Swaps())
		}
	}
}
