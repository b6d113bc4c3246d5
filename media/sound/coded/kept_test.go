//go:build cgo

package coded

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/avtest"
	"github.com/headrace/headrace/media/sound"
)

// cuttable are files that say what is in them before it comes.
var cuttable = []fixture{
	{name: "cbr.mp3", rate: "44100", how: "-c:a libmp3lame -b:a 128k"},
	{name: "a.flac", rate: "44100", how: "-c:a flac"},
	{name: "a.ogg", rate: "44100", how: "-c:a libvorbis"},
	{name: "a.opus", rate: "48000", how: "-c:a libopus -b:a 64k"},
	{name: "flac.ogg", rate: "44100", how: "-c:a flac"},
	{name: "flac.mka", rate: "44100", how: "-c:a flac"},
	{name: "vorbis.mka", rate: "44100", how: "-c:a libvorbis"},
	{name: "a.ts", rate: "44100", how: "-c:a aac -aac_pns 0"},
	{name: "a.mpg", rate: "44100", how: "-c:a mp2"},
	{name: "front.m4a", rate: "44100", how: "-c:a alac -movflags +faststart"},
	{name: "front.mov", rate: "44100", how: "-c:a pcm_s16le -movflags +faststart"},
	{name: "pcm.avi", rate: "44100", how: "-c:a pcm_s16le"},
	{name: "adpcm.wav", rate: "44100", how: "-c:a adpcm_ima_wav"},
	{name: "a.wv", rate: "8000", how: "-c:a wavpack -frame_size 4096"},
	{name: "a.wma", rate: "44100", how: "-c:a wmav2"},
}

// pieces reads all of a file as [sound.Options.Keep] has it, in pieces of random lengths.
func pieces(t *testing.T, s sound.Stream, random *rand.Rand) []float32 {
	t.Helper()
	channels := int64(s.Info().Channels)
	all := make([]float32, s.Info().Samples*channels)
	for at := int64(0); at < s.Info().Samples; {
		n := min(1+random.Int64N(9000), s.Info().Samples-at)
		if err := s.Read(all[at*channels:(at+n)*channels], at); err != nil {
			t.Fatal(err)
		}
		at += n
	}
	return all
}

func openKept(t *testing.T, file []byte) sound.Stream {
	t.Helper()
	s, err := sound.OpenWith(file, sound.Options{Track: -1, Keep: true})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// onDisk is a file that OpenKept opens.
type onDisk struct {
	*os.File
	size int64
}

func (f onDisk) Size() int64     { return f.size }
func (f onDisk) Descriptor() int { return int(f.Fd()) }

// Of a file that is cut off comes what a whole one begins with, but for what decoders of
// WMA make of the last packet; nearly all of it, and none that was lost. It is the same
// from a file that is not in memory.
func TestFilesThatAreCutOffAreKept(t *testing.T) {
	avtest.Library(t)
	random := rand.New(rand.NewPCG(21, 22))
	for _, f := range cuttable {
		b := f.bytes(t)
		s := openKept(t, b)
		want := pieces(t, s, random)
		channels := s.Info().Channels
		if sound.Damaged(s) || !slices.Equal(want, samplesOf(t, b)) {
			t.Errorf("%s is whole: %v", f.name, sound.Damaged(s))
		}
		s.Close()

		for range 4 {
			cut := len(b)/3 + random.IntN(2*len(b)/3-1)
			s := openKept(t, b[:cut])
			got := pieces(t, s, random)
			if !sound.Damaged(s) {
				t.Errorf("%s: %d bytes of %d are whole", f.name, cut, len(b))
			}
			s.Close()
			least, same := len(want)*(cut-8000)/len(b)-channels*5000, len(got)
			if f.name == "a.wma" {
				same -= channels * 2048
			}
			if len(got) > len(want) || len(got) < least || !slices.Equal(got[:same], want[:same]) {
				t.Errorf("%s: %d bytes of %d: %d samples of %d", f.name, cut, len(b), len(got), len(want))
			}
			if _, err := sound.Open(b[:cut], -1); err == nil || !strings.Contains(err.Error(), sound.Remedy) {
				t.Errorf("%s: %v", f.name, err)
			}
			sameOnDisk(t, f.name, b[:cut], got, random)
		}
	}
}

func sameOnDisk(t *testing.T, name string, file []byte, want []float32, random *rand.Rand) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	disk, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	from := onDisk{disk, int64(len(file))}
	in, err := InPlace(from)
	if err != nil || !in {
		if err != nil || strings.Contains("a.ts a.mpg vorbis.mka front.m4a front.mov pcm.avi", name) {
			t.Errorf("%s has to be in memory: %v", name, err)
		}
		return
	}
	r, err := OpenKept(from, sound.Options{Track: -1})
	if err != nil {
		t.Fatal(name, err)
	}
	defer r.Close()
	if got := pieces(t, r, random); !slices.Equal(got, want) {
		t.Errorf("%s: %d samples from a disk, and %d from memory", name, len(got), len(want))
	}
}

// A packet that cannot be decoded is silence, and the others stay where they are: where
// packets say how many samples they have, and where they do not.
func TestDamagedPacketsAreSilence(t *testing.T) {
	avtest.Library(t)
	random := rand.New(rand.NewPCG(31, 32))
	for _, f := range []fixture{
		{name: "flac.mka", rate: "44100", how: "-c:a flac"},
		{name: "a.wv", rate: "8000", how: "-c:a wavpack -frame_size 4096"},
		{name: "a.flac", rate: "44100", how: "-c:a flac"},
	} {
		b := f.bytes(t)
		want := samplesOf(t, b)
		bad := slices.Clone(b)
		at := len(b) / 3
		for i := range 300 {
			bad[at+i] ^= 0x5A
		}
		if _, err := all(bad); !errors.Is(err, media.ErrCorrupt) || !strings.Contains(err.Error(), sound.Remedy) {
			t.Errorf("%s: %v", f.name, err)
		}

		s := openKept(t, bad)
		got := pieces(t, s, random)
		if !sound.Damaged(s) || len(got) != len(want) {
			t.Fatalf("%s: %v, %d samples of %d", f.name, sound.Damaged(s), len(got), len(want))
		}
		first, last, silent := -1, -1, 0
		for i := range got {
			if got[i] == want[i] {
				continue
			}
			if last = i; first < 0 {
				first = i
			}
			if got[i] == 0 {
				silent++
			}
		}
		if most := 2 * 17000; first < 0 || last-first > most || silent < (last-first)/2 {
			t.Errorf("%s: samples %d to %d differ, of which %d are silent", f.name, first, last, silent)
		}

		window := make([]float32, len(got)/2/s.Info().Channels*s.Info().Channels) // from the middle of the damage on
		from := (first + last) / 2 / s.Info().Channels
		window = window[:min(len(window), len(got)-from*s.Info().Channels)]
		if err := s.Read(window, int64(from)); err != nil || !slices.Equal(window, got[from*s.Info().Channels:][:len(window)]) {
			t.Errorf("%s: a window of it is another: %v", f.name, err)
		}
		s.Close()
	}
}

// What is lost at the end is not made up.
func TestDamageAtTheEndOfPacketsWithoutCounts(t *testing.T) {
	avtest.Library(t)
	f := fixture{name: "a.wv", rate: "8000", how: "-c:a wavpack -frame_size 4096"}
	b := f.bytes(t)
	last := bytes.LastIndex(b, []byte("wvpk"))
	b[last+(len(b)-last)/2] ^= 0x55
	s := openKept(t, b)
	defer s.Close()
	whole, random := samplesOf(t, f.bytes(t)), rand.New(rand.NewPCG(1, 1))
	if got := pieces(t, s, random); len(got) == 0 || len(got) >= len(whole) || !slices.Equal(got, whole[:len(got)]) || !sound.Damaged(s) {
		t.Errorf("%d samples of %d, %v", len(got), len(whole), sound.Damaged(s))
	}
}

// A chain is kept up to where its last recording is cut off, and stays damaged when
// another one is open.
func TestChainsThatAreCutOffAreKept(t *testing.T) {
	avtest.Library(t)
	each := recordings(t, ".opus.ogg", "-c:a libopus", "-c:a libopus")
	want := slices.Concat(samplesOf(t, each[0]), samplesOf(t, each[1]))
	chain := slices.Concat(each...)
	s := openKept(t, chain[:len(chain)-len(each[1])/3])
	defer s.Close()
	got := pieces(t, s, rand.New(rand.NewPCG(5, 5)))
	if first := len(samplesOf(t, each[0])); len(got) <= first || len(got) >= len(want) || off(got, want[:len(got)]) > 1e-5 {
		t.Errorf("%d samples of %d", len(got), len(want))
	}
	if err := s.Read(make([]float32, 9*s.Info().Channels), 0); err != nil || !sound.Damaged(s) {
		t.Error("it is whole", err)
	}
}

// A file of which nothing is whole is an error that offers no way to keep it.
func TestNothingIsKeptOfFilesWithoutPackets(t *testing.T) {
	avtest.Library(t)
	for _, f := range cuttable {
		b := f.bytes(t)
		if s, err := sound.OpenWith(b[:60], sound.Options{Track: -1, Keep: true}); err == nil && s.Info().Samples > 0 {
			t.Errorf("%s: %d samples in 60 bytes", f.name, s.Info().Samples)
			s.Close()
		} else if err != nil && strings.Contains(err.Error(), sound.Remedy) {
			t.Errorf("%s: %v", f.name, err)
		}
	}
}
