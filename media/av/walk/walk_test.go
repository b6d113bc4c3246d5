package walk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/avtest"
)

// numbered is a page with a number, and a time if it has samples.
func numbered(flags byte, serial, number uint32, granule int64, laces ...byte) []byte {
	p := avtest.Page(flags, serial, laces...)
	binary.LittleEndian.PutUint64(p[6:], uint64(granule))
	binary.LittleEndian.PutUint32(p[18:], number)
	for i := 27 + len(laces); i < len(p); i++ {
		p[i] = byte(number)
	}
	return avtest.SumPage(p)
}

// recording is pages of a stream: two of headers, and others with the given numbers.
func recording(serial uint32, numbers ...uint32) (all [][]byte) {
	all = [][]byte{numbered(firstPage, serial, 0, 0, 19), numbered(0, serial, 1, 0, 40)}
	for i, n := range numbers {
		flags := byte(0)
		if i == len(numbers)-1 {
			flags = lastPage
		}
		all = append(all, numbered(flags, serial, n, int64(n)*960, 200, 30))
	}
	return all
}

func joinedBytes(pages ...[]byte) []byte { return slices.Concat(pages...) }

// damaged is what is damaged first of a file.
func damaged(t *testing.T, format string, file []byte) *Damage {
	t.Helper()
	all, err := Damages(format, bytes.NewReader(file), int64(len(file)), 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		return nil
	}
	return all[0]
}

// Files of Ogg that are whole, though their numbers are not from 0 up, and damaged ones.
func TestWalksOverPages(t *testing.T) {
	one, live := recording(1, 2, 3, 4, 5), recording(1, 2, 3, 4, 5)
	live[5] = numbered(0, 1, 5, 5*960, 200, 30)
	flip := func(page []byte, at int) []byte {
		page = bytes.Clone(page)
		page[at] ^= 4
		return page
	}
	two := recording(2, 2, 3, 4, 5)
	mixed := joinedBytes(one[0], two[0], one[1], two[1], one[2], two[2], two[3], one[3], one[4], two[4], one[5], two[5])
	without := func(all [][]byte, n int) []byte { return joinedBytes(slices.Delete(slices.Clone(all), n, n+1)...) }

	for name, c := range map[string]struct {
		file []byte
		want string // of the error
	}{
		"whole":                    {joinedBytes(one...), ""},
		"a chain":                  {joinedBytes(append(one, two...)...), ""},
		"a chain of one number":    {joinedBytes(append(one, one...)...), ""},
		"side by side":             {mixed, ""},
		"tags behind":              {append(joinedBytes(one...), "TAG and more of it, without a page"...), ""},
		"tags in a chain":          {joinedBytes(joinedBytes(one...), []byte("ID3 tags"), joinedBytes(two...)), ""},
		"live":                     {joinedBytes(live...), ""},
		"joined by a listener":     {joinedBytes(recording(1, 500, 501, 502)...), ""},
		"numbers of packets":       {joinedBytes(recording(1, 2, 4, 9, 15)...), ""},
		"one number for all":       {joinedBytes(one[0], one[1], numbered(0, 1, 2, 960, 1), numbered(0, 1, 2, 1920, 2), numbered(4, 1, 2, 2880, 3)), ""},
		"cut off":                  {joinedBytes(one...)[:800], ""}, // Check says so
		"a bit of a page":          {joinedBytes(one[0], one[1], one[2], flip(one[3], 100), one[4], one[5]), "the checksum of its page is wrong"},
		"a bit of the last page":   {joinedBytes(one[0], one[1], one[2], one[3], one[4], flip(one[5], 250)), "the checksum of its page is wrong"},
		"a bit of the first page":  {joinedBytes(flip(one[0], 40), one[1], one[2]), "the checksum of its page is wrong"},
		"a letter of a page":       {joinedBytes(one[0], one[1], one[2], flip(one[3], 1), one[4], one[5]), "are no page"},
		"a letter of the last":     {joinedBytes(live[0], live[1], live[2], live[3], live[4], flip(live[5], 1)), "no page was the last"},
		"the size of a page":       {joinedBytes(one[0], one[1], one[2], flip(one[3], 28), one[4], one[5]), "checksum"},
		"the version of a page":    {joinedBytes(one[0], one[1], one[2], flip(one[3], 4), one[4], one[5]), "are no page"},
		"bytes between":            {joinedBytes(one[0], one[1], one[2], []byte("abc"), one[3], one[4], one[5]), "3 bytes are no page"},
		"bytes before a recording": {joinedBytes(joinedBytes(one...), []byte("ID3"), two[1], two[2]), "3 bytes are no page"},
		"a page is missing":        {without(one, 3), "page 4 follows on page 2"},
		"side by side, missing":    {bytes.Replace(mixed, two[3], nil, 1), "page 4 follows on page 2"},
		"the first with sound":     {joinedBytes(one[0], one[1], one[2], one[4], one[5]), "page 4 follows on page 2"},
		"two are missing, apart":   {joinedBytes(recording(1, 2, 3, 5, 7)...), "page 5 follows on page 3"},
		"the last but one":         {joinedBytes(recording(1, 2, 4)...), "page 4 follows on page 2"},
		"a page comes twice":       {joinedBytes(one[0], one[1], one[2], one[3], one[3], one[4], one[5]), "page 3 comes twice"},
		"in the second of a chain": {joinedBytes(joinedBytes(one...), without(two, 3)), "page 4 follows on page 2"},
	} {
		d := damaged(t, "ogg", c.file)
		if c.want == "" && d != nil || c.want != "" && (d == nil || !strings.Contains(d.Error(), c.want) || !errors.Is(d, media.ErrCorrupt)) {
			t.Errorf("%s: %v; want %q", name, d, c.want)
		}
	}
}

// A walk that has come to a place knows of damage up to there, and one that begins
// elsewhere of none before that.
func TestWalksFromPlaceToPlace(t *testing.T) {
	all := recording(1, 2, 3, 4, 5, 6)
	all[4][50] ^= 1
	file := joinedBytes(all...)
	w := New("ogg", bytes.NewReader(file), int64(len(file)), 0)
	damaged := int64(len(joinedBytes(all[:4]...)))
	if err := w.To(damaged - 1); err != nil {
		t.Error(err)
	}
	if err := w.To(damaged); err == nil {
		t.Error("it is not told")
	}
	if err := w.To(0); err == nil {
		t.Error("it is told once")
	}
	w.From(damaged + 1)
	if err := w.To(int64(len(file))); err != nil {
		t.Error(err)
	}
	if err := (*Walk)(nil).To(9); err != nil {
		t.Error(err)
	}
	w = New("ogg", noDisk{}, 1000, 0)
	if err := w.To(600); !errors.Is(err, errDisk) {
		t.Error(err)
	}
}

var errDisk = errors.New("no disk")

// noDisk reads nothing.
type noDisk struct{}

func (noDisk) ReadAt(p []byte, _ int64) (int, error) { return 0, errDisk }

// Whatever is in a file, a walk ends soon, and finds the same damage in steps.
func FuzzWalk(f *testing.F) {
	f.Add("ogg", joinedBytes(recording(1, 2, 3, 5)...), uint16(100))
	f.Add("matroska", []byte("\x1A\x45\xDF\xA3\x80\x18\x53\x80\x67\x9E\x1F\x43\xB6\x75\x99\xE7\x81\x00\xA3\x88\x81\x00\x00\x82\x01\x01ab\xA0\x87\xA1\x85\x81\x00\x00\x00s"), uint16(1))
	f.Add("flv", append([]byte("FLV\x01\x05\x00\x00\x00\x09\x00\x00\x00\x00"), bytes.Repeat(tag(8, "sound", 0), 3)...), uint16(7))
	f.Add("ac3", bytes.Repeat(ac3Frame(), 4), uint16(64))
	f.Add("avi", chunk("RIFF", 80, "AVI "+string(list("movi", chunk("00dc", 8, "pictures"), chunk("01wb", 5, "sound")))), uint16(2))
	f.Add("mpegts", bytes.Repeat(transport(0x100, 1, 5), 9), uint16(90))
	f.Fuzz(func(t *testing.T, format string, data []byte, step uint16) {
		size := int64(len(data))
		d := damaged(t, format, data)
		w := New(format, bytes.NewReader(data), size, 0)
		for at := int64(0); at < size; at += int64(step) + 1 {
			if err := w.To(at); err != nil {
				break
			}
		}
		if err := w.To(size); (err != nil) != (d != nil) || err != nil && err.Error() != d.Error() {
			t.Fatalf("at once %v, in steps %v", d, err)
		}
		w.From(size / 2)
		w.To(size)
	})
}
