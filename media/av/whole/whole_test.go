package whole

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/avtest"
)

var page = avtest.Page

func box(kind string, body ...[]byte) []byte {
	b := slices.Concat(body...)
	return slices.Concat(binary.BigEndian.AppendUint32(nil, uint32(8+len(b))), []byte(kind), b)
}

func chunk(order binary.AppendByteOrder, name string, size int, body string) []byte {
	return append(order.AppendUint32([]byte(name), uint32(size)), body...)
}

// Files that are whole, and such that are cut off, where a structure leaves room for
// doubt.
func TestEnds(t *testing.T) {
	big, little := binary.BigEndian, binary.LittleEndian
	form := func(size int, chunks ...[]byte) []byte {
		return slices.Concat(chunk(big, "FORM", size, "AIFF"), slices.Concat(chunks...))
	}
	comm := chunk(big, "COMM", 18, "\x00\x01\x00\x00\x00\x04\x00\x10\x40\x0E\xAC\x44\x00\x00\x00\x00\x00\x00")
	unknown := slices.Concat(comm[:10], make([]byte, 4), comm[14:])
	samples := chunk(big, "SSND", 16, strings.Repeat("\x00", 16))
	ebml := []byte("\x1A\x45\xDF\xA3\x80")
	live := "\x18\x53\x80\x67\x01\xFF\xFF\xFF\xFF\xFF\xFF\xFF"
	sidx := box("sidx", make([]byte, 22), []byte{0, 1}, []byte{0, 0, 0, 16}, make([]byte, 8))
	moov := box("moov", box("mvex"))
	riff := func(size int) []byte {
		return chunk(little, "RIFF", size, "AVI LIST\xFF\xFF\xFF\xFFmovi00dc\x04\x00\x00\x00abcd")
	}
	for name, c := range map[string]struct {
		format string
		file   []byte
		end    End
		cut    string // in the error
	}{
		"ogg":                           {"ogg", slices.Concat(page(2, 1, 7), page(4, 1, 9)), Stated, ""},
		"ogg, live":                     {"ogg", slices.Concat(page(2, 1, 7), page(0, 1, 255, 0)), Open, ""},
		"ogg, junk behind":              {"ogg", slices.Concat(page(2, 1, 7), page(4, 1, 9), []byte("TAG and more")), Stated, ""},
		"ogg, within a packet":          {"ogg", slices.Concat(page(2, 1, 7), page(0, 1, 9, 255)), 0, "goes on in the next page"},
		"ogg, within another's packet":  {"ogg", slices.Concat(page(2, 1, 7), page(0, 1, 255), page(0, 2, 9)), 0, "goes on in the next page"},
		"ogg, within a page":            {"ogg", slices.Concat(page(2, 1, 7), page(4, 1, 9)[:30]), 0, "inside a page"},
		"ogg, within a head":            {"ogg", slices.Concat(page(2, 1, 7), page(4, 1, 9)[:2]), 0, "the head of a page"},
		"ogg, four letters in a packet": {"ogg", slices.Concat(page(2, 1, 7), page(0, 1, 200, 9), page(4, 1, 4)), Stated, ""},

		"aiff":                  {"aiff", form(4+26+24, comm, samples), Stated, ""},
		"aiff, off by its head": {"aiff", form(12+26+24, comm, samples), Stated, ""},
		"aiff, junk behind":     {"aiff", append(form(4+26+24, comm, samples), "\x00\x00\x00\x00\x00\x00\x00\x09\x00"...), Stated, ""},
		"aiff, a chunk less":    {"aiff", form(4+26+24+20, comm, samples), 0, "says that it has 82"},
		"aiff, piped":           {"aiff", form(0, unknown, chunk(big, "SSND", 0, strings.Repeat("\x00", 12))), Open, ""},
		"aiff, piped, a pad":    {"aiff", form(0, unknown, chunk(big, "SSND", 0, strings.Repeat("\x00", 13))), Open, ""},

		"matroska, live":                  {"matroska,webm", slices.Concat(ebml, []byte(live+"\x1F\x43\xB6\x75\xFF\xE7\x81\x00\xA3\x84abcd")), Open, ""},
		"matroska, live, within a block":  {"matroska,webm", slices.Concat(ebml, []byte(live+"\x1F\x43\xB6\x75\xFF\xE7\x81\x00\xA3\x84abc")), 0, "inside a block"},
		"matroska, live, within a head":   {"matroska,webm", slices.Concat(ebml, []byte(live+"\x1F\x43\xB6\x75\xFF\xE7\x81\x00\xA3")), 0, "the head of an element"},
		"matroska, live, then another":    {"matroska,webm", slices.Concat(ebml, []byte(live+"\xEC\x80"), ebml, []byte("\x18\x53\x80\x67\x82\xEC\x80")), Stated, ""},
		"matroska, zeros behind":          {"matroska,webm", slices.Concat(ebml, []byte("\x18\x53\x80\x67\x82\xEC\x80\x00\x00\x00")), Stated, ""},
		"matroska, a segment of size 0":   {"matroska,webm", slices.Concat(ebml, []byte("\x18\x53\x80\x67\x80\xEC\x81a")), Open, ""},
		"matroska, only its first header": {"matroska,webm", ebml, 0, "its segment"},

		"avi, piped":                 {"avi", riff(-1), Open, ""},
		"avi, piped, within a frame": {"avi", riff(0)[:len(riff(0))-1], 0, "chunk 00dc"},
		"avi, an index that is gone": {"avi", slices.Concat(chunk(little, "RIFF", 70, "AVI "), chunk(little, "LIST", 12+16+12, "strl"), chunk(little, "indx", 24+16, "\x04\x00\x00\x00\x01\x00\x00\x00"+strings.Repeat("\x00", 16)+"\x00\x10\x00\x00\x00\x00\x00\x00\x10\x00\x00\x00\x00\x00\x00\x00")), 0, "what its index names"},

		"mp4, fragments":              {"mov,mp4", slices.Concat(moov, box("moof"), box("mdat", []byte("abc"))), Open, ""},
		"mp4, within a fragment":      {"mov,mp4", slices.Concat(moov, box("moof"), box("mdat", []byte("abc"))[:9]), 0, "its box mdat"},
		"mp4, within a head":          {"mov,mp4", slices.Concat(moov, box("moof"), box("mdat")[:3]), 0, "the head of a box"},
		"mp4, zeros behind":           {"mov,mp4", slices.Concat(moov, box("moof"), box("mdat"), []byte("\x00\x00\x00\x00\x00")), Open, ""},
		"mp4, a segment that is gone": {"mov,mp4", slices.Concat(moov, sidx, box("moof")), 0, "what its box sidx names"},
		"mp4, an index for all":       {"mov,mp4", slices.Concat(moov, sidx, box("moof"), box("mdat")), Stated, ""},

		"unknown": {"nut", []byte("nut"), Unknown, ""},
	} {
		end, err := Check(c.format, bytes.NewReader(c.file), int64(len(c.file)))
		if c.cut == "" && (err != nil || end != c.end) || c.cut != "" && (!errors.Is(err, media.ErrTruncated) || !strings.Contains(err.Error(), c.cut)) {
			t.Errorf("%s: %d, %v; want %d, %q", name, end, err, c.end, c.cut)
		}
	}
}

var errDisk = errors.New("no disk")

// broken fails, or ends, behind its bytes.
type broken struct {
	*bytes.Reader
	err error
}

func (b broken) ReadAt(p []byte, at int64) (int, error) {
	n, err := b.Reader.ReadAt(p, at)
	if err == io.EOF && b.err != nil {
		err = b.err
	}
	return n, err
}

func TestErrorsOfReading(t *testing.T) {
	for format := range formats {
		_, err := Check(format, broken{bytes.NewReader(nil), errDisk}, 1<<20)
		if !errors.Is(err, errDisk) {
			t.Errorf("%s: %v", format, err)
		}
	}
	file := bytes.NewReader(page(4, 1, 9)[:20])
	if err := Blame(file, 20, errDisk); !errors.Is(err, media.ErrTruncated) {
		t.Error(err)
	}
	if err := Blame(bytes.NewReader([]byte("RIFF    WEBP")), 12, errDisk); err != errDisk {
		t.Error(err)
	}
}

// Whatever a file has in it, and however much less than it should have when it is read,
// the end comes soon, and nothing panics.
func FuzzCheck(f *testing.F) {
	for _, k := range beginnings {
		f.Add(k.format, []byte(k.head+strings.Repeat("\x00", 100)), uint16(0))
	}
	f.Add("avi", []byte("RIFF\xFF\xFF\xFF\xFFAVI LIST\xFF\xFF\xFF\xFFmovi00dc\x04\x00\x00\x00abcd"), uint16(9))
	f.Add("mov", slices.Concat(box("moov", box("mvex")), box("sidx", make([]byte, 40)), box("moof")), uint16(1))
	f.Add("mpegts", bytes.Repeat(append([]byte("G\x40\x11\x10"), make([]byte, 184)...), 12), uint16(5))
	f.Add("yuv4mpegpipe", []byte("YUV4MPEG2 W2 H2\nFRAME\n123456"), uint16(0))
	f.Fuzz(func(t *testing.T, format string, data []byte, more uint16) {
		begun := time.Now()
		_, err := Check(format, bytes.NewReader(data), int64(len(data))+int64(more))
		if err != nil && !errors.Is(err, media.ErrTruncated) {
			t.Errorf("%s: %v", format, err)
		}
		if d := time.Since(begun); d > 5*time.Second {
			t.Errorf("%s: %v", format, d)
		}
	})
}
