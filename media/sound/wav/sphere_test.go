package wav

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/media/sound"
)

// sphere is a file of NIST SPHERE.
func sphere(samples []byte, lines ...string) []byte {
	head := "NIST_1A\n   1024\n" + strings.Join(lines, "\n") + "\nend_head\n"
	return append([]byte(head+strings.Repeat(" ", 1024-len(head))), samples...)
}

func TestSphere(t *testing.T) {
	little, big := binary.LittleEndian.AppendUint16, binary.BigEndian.AppendUint16
	numbers := []uint16{0x4000, 0x8000, 0x2000, 0xC000}
	var low, high []byte
	for _, n := range numbers {
		low, high = little(low, n), big(high, n)
	}
	two := []string{"sample_rate -i 16000", "channel_count -i 2", "sample_count -i 2", "sample_n_bytes -i 2"}
	mu := []string{"sample_rate -i 8000", "channel_count -i 1", "sample_count -i 2", "sample_n_bytes -i 1", "sample_coding -s4 ulaw"}
	for name, c := range map[string]struct {
		file []byte
		want []float32
	}{
		"low first":      {sphere(low, append(two, "sample_byte_format -s2 01")...), []float32{0.5, -1, 0.25, -0.5}},
		"high first":     {sphere(high, append(two, "sample_byte_format -s2 10", "sample_coding -s3 pcm")...), []float32{0.5, -1, 0.25, -0.5}},
		"µ-law":          {sphere([]byte{0xFF, 0x80, 1, 2}, mu...), []float32{0, 32124. / 32768}},
		"bytes":          {sphere([]byte{0x40, 0x80}, "sample_rate -i 8000", "sample_n_bytes -i 1"), []float32{0.5, -1}},
		"count is wrong": {sphere(low, append(two[:2:2], "sample_n_bytes -i 2", "sample_byte_format -s2 01")...), []float32{0.5, -1, 0.25, -0.5}},
		"CR and comment": {sphere(low, "; a comment", two[0]+"\r", two[1], two[2], two[3], "sample_byte_format -s2 01"), []float32{0.5, -1, 0.25, -0.5}},
	} {
		for _, where := range []string{"memory", "disk"} {
			s, err := Sphere.Open(c.file, sound.Options{Track: -1})
			if where == "disk" {
				s, err = Sphere.OpenAt(&disk{data: c.file}, sound.Options{})
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			got := make([]float32, s.Info().Samples*int64(s.Info().Channels))
			if err := s.Read(got, 0); err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%s, in %s: %v, %v", name, where, got, err)
			}
		}
	}

	for want, file := range map[string][]byte{
		"compressed by shorten-v2.00: unpack": sphere(low, append(two, "sample_byte_format -s2 01", "sample_coding -s26 pcm,embedded-shorten-v2.00")...),
		"ends after 2 of 3 samples":           sphere(low, "sample_rate -i 16000", "channel_count -i 2", "sample_count -i 3", "sample_n_bytes -i 2", "sample_byte_format -s2 01"),
		`its sample_rate is ""`:               sphere(low, "channel_count -i 2"),
		`its channel_count is "999"`:          sphere(low, "sample_rate -i 16000", "channel_count -i 999"),
		`"pcm" of 2 bytes, ""`:                sphere(low, two...),
		"does not end with end_head":          []byte("NIST_1A\n   1024\n" + strings.Repeat("x", 1024)),
		`"   abcd\n" should say how many`:     []byte("NIST_1A\n   abcd\n"),
		`"    999\n" should say how many`:     []byte("NIST_1A\n    999\n"),
	} {
		if _, err := Sphere.Open(file, sound.Options{}); err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "\n", `\n`), want) {
			t.Errorf("%v, should be about %s", err, want)
		}
	}
	if _, err := Sphere.Open(sphere(low, two...), sound.Options{Track: 1}); err == nil {
		t.Error("there is a second track")
	}
}

// What has another coding is left to other formats, unless these take it for another one.
func TestOtherCodings(t *testing.T) {
	for code, want := range map[uint16]bool{0x02: true, 0x11: true, 0x31: true, 0x55: true, 0xFF: true, 0x38: false, 0x40: false} {
		b := file(1, 2)
		binary.LittleEndian.PutUint16(b[20:], code)
		_, err := open(sound.InMemory(b), false)
		if errors.Is(err, sound.ErrCoded) != want || err == nil || !strings.Contains(err.Error(), fmt.Sprintf("0x%04x", code)) {
			t.Errorf("%#x: %v", code, err)
		}
		if parts, err := Format.Parts(b[:sound.LeastHead-18], &disk{data: b}); err != nil || parts == want {
			t.Errorf("%#x is read in parts: %v, %v", code, parts, err)
		}
	}
}

// RIFX has the highest byte of numbers first.
func TestHighestByteFirst(t *testing.T) {
	type sample struct {
		code, bits uint16
		bytes      string
	}
	for _, c := range []sample{{1, 8, "\xC0"}, {1, 16, "\x40\x00"}, {1, 24, "\x40\x00\x00"}, {1, 32, "\x40\x00\x00\x00"}, {3, 32, "\x3F\x00\x00\x00"}, {3, 64, "\x3F\xE0\x00\x00\x00\x00\x00\x00"}} {
		b := []byte("RIFX\x00\x00\x00\x00WAVEfmt \x00\x00\x00\x10")
		b = binary.BigEndian.AppendUint16(b, c.code)
		b = append(b, 0, 1, 0, 0, 0x1F, 0x40, 0, 0, 0, 0, 0, byte(len(c.bytes)))
		b = binary.BigEndian.AppendUint16(b, c.bits)
		b = append(append(b, "data\x00\x00\x00"...), byte(len(c.bytes)))
		f, err := open(sound.InMemory(append(b, c.bytes...)), false)
		if err != nil {
			t.Fatal(c, err)
		}
		var got [1]float32
		if err := f.Read(got[:], 0); err != nil || got[0] != 0.5 || f.Info().Rate != 8000 {
			t.Errorf("%+v: %v, %v", c, got, err)
		}
	}
}

func FuzzSphere(f *testing.F) {
	f.Add(sphere([]byte{1, 2, 3, 4}, "sample_rate -i 16000", "channel_count -i 1", "sample_n_bytes -i 2", "sample_byte_format -s2 01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Sphere.Open(b, sound.Options{})
		if err != nil {
			return
		}
		i := s.Info()
		if i.Samples < 0 || i.Samples*int64(i.Channels) > int64(len(b)) || i.Rate < 1 || i.Channels < 1 {
			t.Fatalf("%+v in %d bytes", i, len(b))
		}
		if err := s.Read(make([]float32, i.Samples*int64(i.Channels)), 0); err != nil {
			t.Fatal(err)
		}
	})
}
