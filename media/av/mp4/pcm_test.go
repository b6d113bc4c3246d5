package mp4

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/testvideo"
	"github.com/headrace/headrace/internal/tier"
)

// soundOf makes a file with one track of sound, whose entry is given: 12 samples of a
// size, in chunks of 5, 5 and 2, that last so many ticks each.
func soundOf(version, size, lasts int, entry []byte) []byte {
	data := make([]byte, 12*size)
	turn := parts(1<<16, 0, 0, 0, 1<<16, 0, 0, 0, 1<<30)
	ftyp := atom("ftyp", "qt  ", 0, "qt  ")
	at := len(ftyp) + 8
	moov := atom("moov",
		atom("mvhd", 0, 0, 0, 1000, 120, 1<<16, uint16(256), make([]byte, 10), turn, make([]byte, 24), 2),
		atom("trak",
			atom("tkhd", 3, 0, 0, 1, 0, 120, make([]byte, 16), turn, 0, 0),
			atom("mdia", atom("mdhd", 0, 0, 0, 48000, 12*lasts, uint16(0x55c4), uint16(0)), atom("hdlr", 0, 0, "soun", make([]byte, 13)),
				atom("minf", atom("stbl",
					atom("stsd", version<<24, 1, entry),
					atom("stts", 0, 1, 12, lasts),
					atom("stsc", 0, 2, 1, 5, 1, 3, 2, 1),
					atom("stsz", 0, size, 12),
					atom("stco", 0, 3, at, at+5*size, at+10*size),
				))),
		))
	return parts(ftyp, atom("mdat", data), moov)
}

// entryOf makes an entry of two channels at 48 kHz.
func entryOf(kind string, version, bits int, more ...any) []byte {
	return atom(kind, make([]byte, 6), uint16(1), uint16(version), make([]byte, 6), uint16(2), uint16(bits), make([]byte, 4), 48000<<16, parts(more...))
}

// longEntry is one of version 2, of so many channels, with so many bytes for one sample
// of all.
func longEntry(kind string, rate float64, channels, bits, flags, each int, more ...any) []byte {
	return atom(kind, make([]byte, 6), uint16(1), uint16(2), make([]byte, 6), uint16(3), uint16(16), uint16(0xfffe), uint16(0), 1<<16,
		72, math.Float64bits(rate), channels, 0x7f000000, bits, flags, each, 1, parts(more...))
}

// What samples that are not compressed are is in the entry: in its name, its bits, and in
// boxes of different writers. Where ffprobe knows the entry it says the same.
func TestLinearEntries(t *testing.T) {
	wave := func(kind string, little int) []byte {
		return parts(1, 3, 6, 2, atom("wave", atom("frma", kind), atom("enda", uint16(little)), 8, 0))
	}
	pcmC := func(flags, bits int) []byte { return atom("pcmC", 0, uint8(flags), uint8(bits)) }
	rate96 := parts(atom("srat", 0, 96000), pcmC(1, 24))
	for i, c := range []struct {
		entry  []byte
		want   string
		bytes  int
		unlike bool // ffprobe says something else, of which the comment tells, or does not know it
	}{
		{entryOf("raw ", 0, 8), "pcm_u8", 1, false},
		{entryOf("NONE", 0, 8), "pcm_u8", 1, false},
		{entryOf("raw ", 0, 16), "pcm_s16be", 2, false},
		{entryOf("twos", 0, 16), "pcm_s16be", 2, false},
		{entryOf("twos", 0, 8), "pcm_s8", 1, false},
		{entryOf("twos", 0, 24), "pcm_s24be", 3, false},
		{entryOf("twos", 0, 32), "pcm_s32be", 4, false},
		{entryOf("twos", 0, 0), "pcm_s16be", 2, false},
		{entryOf("sowt", 0, 16), "pcm_s16le", 2, false},
		{entryOf("sowt", 0, 8), "pcm_s8", 1, false},
		{entryOf("sowt", 0, 24), "pcm_s24le", 3, false},
		{entryOf("sowt", 0, 32), "pcm_s32le", 4, false},
		{entryOf("sowt", 0, 20), "pcm_s24le", 3, true}, // ffprobe says 16, which nobody can mean
		{entryOf("ulaw", 0, 16), "pcm_mulaw", 1, false},
		{entryOf("alaw", 0, 16), "pcm_alaw", 1, false},
		{entryOf("in24", 0, 16), "pcm_s24be", 3, false},
		{entryOf("in24", 1, 16, wave("in24", 0)), "pcm_s24be", 3, false},
		{entryOf("in24", 1, 16, wave("in24", 1)), "pcm_s24le", 3, false},
		{entryOf("in32", 1, 16, wave("in32", 0)), "pcm_s32be", 4, false},
		{entryOf("in32", 1, 16, wave("in32", 1)), "pcm_s32le", 4, false},
		{entryOf("fl32", 1, 16, wave("fl32", 0)), "pcm_f32be", 4, false},
		{entryOf("fl32", 1, 16, wave("fl32", 1)), "pcm_f32le", 4, false},
		{entryOf("fl64", 1, 16, wave("fl64", 0)), "pcm_f64be", 8, false},
		{entryOf("fl64", 1, 16, wave("fl64", 1)), "pcm_f64le", 8, false},
		{entryOf("in24", 0, 24, atom("enda", uint16(1))), "pcm_s24le", 3, false},
		{longEntry("lpcm", 96000, 2, 16, 12, 4), "pcm_s16le", 2, false},
		{longEntry("lpcm", 96000, 2, 16, 14, 4), "pcm_s16be", 2, false},
		{longEntry("lpcm", 96000, 2, 24, 12, 6), "pcm_s24le", 3, false},
		{longEntry("lpcm", 96000, 2, 24, 14, 6), "pcm_s24be", 3, false},
		{longEntry("lpcm", 96000, 2, 32, 12, 8), "pcm_s32le", 4, false},
		{longEntry("lpcm", 96000, 2, 8, 12, 2), "pcm_s8", 1, false},
		{longEntry("lpcm", 96000, 2, 8, 8, 2), "pcm_u8", 1, false},
		{longEntry("lpcm", 96000, 2, 16, 8, 4), "pcm_u16le", 2, true},
		{longEntry("lpcm", 96000, 2, 32, 9, 8), "pcm_f32le", 4, false},
		{longEntry("lpcm", 96000, 2, 32, 11, 8), "pcm_f32be", 4, false},
		{longEntry("lpcm", 96000, 2, 64, 9, 16), "pcm_f64le", 8, false},
		{longEntry("lpcm", 96000, 1, 16, 44, 2), "pcm_s16le", 2, false},
		{longEntry("lpcm", 96000, 2, 24, 16|4, 8), "pcm_s32le", 4, true}, // the upper 24 of 32
		{longEntry("in24", 192000, 2, 24, 0, 6, atom("wave", atom("frma", "in24"), atom("enda", uint16(1)), 8, 0)), "pcm_s24le", 3, false},
		{longEntry("sowt", 96000, 2, 16, 0, 4), "pcm_s16le", 2, false},
		{entryOf("ipcm", 0, 16, pcmC(1, 16)), "pcm_s16le", 2, true},
		{entryOf("ipcm", 0, 16, pcmC(0, 16)), "pcm_s16be", 2, true},
		{entryOf("ipcm", 0, 24, pcmC(1, 24)), "pcm_s24le", 3, true},
		{entryOf("ipcm", 0, 24, pcmC(0, 24)), "pcm_s24be", 3, true},
		{entryOf("ipcm", 0, 32, pcmC(1, 32)), "pcm_s32le", 4, true},
		{entryOf("ipcm", 0, 16, pcmC(0, 32)), "pcm_s32be", 4, true},
		{entryOf("fpcm", 0, 32, pcmC(1, 32)), "pcm_f32le", 4, true},
		{entryOf("fpcm", 0, 32, pcmC(0, 32)), "pcm_f32be", 4, true},
		{entryOf("fpcm", 0, 32, pcmC(1, 64)), "pcm_f64le", 8, true},
		{entryOf("fpcm", 0, 32, pcmC(0, 64)), "pcm_f64be", 8, true},
	} {
		name := fmt.Sprintf("%s, version %d", c.entry[4:8], c.entry[17])
		channels := 2
		if c.entry[17] == 2 && c.entry[51] == 1 {
			channels = 1
		}
		data := soundOf(0, c.bytes*channels, 1, c.entry)
		f, err := Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		s := f.Streams[0]
		if s.Codec != c.want {
			t.Errorf("%s is %s, want %s", name, s.Codec, c.want)
			continue
		}
		if s.Channels != channels {
			t.Errorf("%s: %d channels, want %d", name, s.Channels, channels)
		}
		if packets := table(t, f, 0).Packets; len(packets) != 3 || int(packets[2].Size) != 2*c.bytes*s.Channels || packets[2].PTS != 10 {
			t.Errorf("%s: %v", name, packets)
		}
		if c.unlike || !tier.Whole() && i%8 != 0 {
			continue
		}
		path := filepath.Join(t.TempDir(), "made.mov")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if p := testvideo.ProbeFile(t, path).Streams[0]; p.CodecName != c.want || p.Channels != s.Channels || p.SampleRate != fmt.Sprint(s.Rate) {
			t.Errorf("%s is %s, %d channels, %d Hz; ffprobe says %s, %d, %s", name, c.want, s.Channels, s.Rate, p.CodecName, p.Channels, p.SampleRate)
		}
	}

	// ISO's version 1 has the fields of version 0, and the rate in a box.
	data := soundOf(1, 6, 1, entryOf("ipcm", 1, 24, rate96))
	f, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	if s := f.Streams[0]; s.Codec != "pcm_s24le" || s.Rate != 96000 {
		t.Errorf("%s at %d Hz", s.Codec, s.Rate)
	}
}

// What cannot be told from an entry is refused: FFmpeg would guess.
func TestLinearEntriesThatAreRefused(t *testing.T) {
	for want, entry := range map[string][]byte{
		"has no pcmC box":                               entryOf("ipcm", 0, 16),
		`"fpcm" at byte`:                                entryOf("fpcm", 0, 32),
		"has samples of 16 bits":                        entryOf("fpcm", 0, 32, atom("pcmC", 0, uint8(1), uint8(16))),
		"has samples of 40 bits":                        entryOf("sowt", 0, 40),
		"has samples of 24 bits in the lower bits of 4": longEntry("lpcm", 96000, 2, 24, 4, 8),
		"has its channels one after the other":          longEntry("lpcm", 96000, 2, 16, 36, 4),
		"does not say how its samples are stored":       entryOf("lpcm", 0, 16),
		"is too short":                                  entryOf("ipcm", 0, 16, atom("pcmC", 0, uint8(1))),
	} {
		data := soundOf(0, 4, 1, entry)
		f, err := Open(bytes.NewReader(data), int64(len(data)))
		if err == nil {
			_, err = f.Table(0)
		}
		if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A sample of the file may be many samples, and its ticks may be finer than they.
func TestLinearSamplesInPacks(t *testing.T) {
	entry := entryOf("sowt", 0, 16)
	for name, c := range map[string]struct{ size, lasts, bytes, duration int }{
		"one by one":  {4, 1, 5 * 4, 5},
		"packs of 10": {40, 10, 40, 10},
		"odd sizes":   {1, 1, 5 * 4, 5}, // as QuickTime has written
	} {
		data := soundOf(0, c.size, c.lasts, entry)
		f, err := Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		p := table(t, f, 0).Packets
		if int(p[1].Size) != c.bytes || int(p[1].Duration) != c.duration || int(p[1].PTS) != c.duration {
			t.Errorf("%s: %+v", name, p[1])
		}
	}
}
