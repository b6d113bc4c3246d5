package flac

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/sound"
)

// made is a file of frames that hold anything but have right check sums: finding them
// takes no more.
func made(frames, block, tail int, variable bool, seed uint64) (b []byte, starts []int64) {
	random := rand.New(rand.NewPCG(seed, 1))
	samples := (frames-1)*block + tail
	b = append(b, "fLaC\x00\x00\x00\x22"...)
	b = binary.BigEndian.AppendUint16(b, uint16(block))
	b = binary.BigEndian.AppendUint16(b, uint16(block))
	b = append(b, make([]byte, 6)...)
	b = binary.BigEndian.AppendUint64(b, 44100<<44|1<<41|15<<36|uint64(samples))
	b = append(b, make([]byte, 16)...)
	b = append(b, 0x81, 0, 0, 3, 'x', 'y', 'z')
	for i := range frames {
		n, number := block, i
		if i == frames-1 {
			n = tail
		}
		begin := len(b)
		starts = append(starts, int64(begin))
		b = append(b, 0xFF, 0xF8, 0x79, 0x18)
		if variable {
			b[begin+1], number = 0xF9, i*block
		}
		b = appendCoded(b, number)
		b = binary.BigEndian.AppendUint16(b, uint16(n-1))
		b = append(b, sum8(b[begin:]))
		for range random.IntN(2 * block) {
			b = append(b, byte(random.Uint32()|random.Uint32()|random.Uint32())) // 0xFF often
		}
		b = binary.BigEndian.AppendUint16(b, sum16(0, b[begin:]))
	}
	return b, starts
}

// appendCoded writes numbers; Go's runes are not all of them.
func appendCoded(b []byte, v int) []byte {
	switch {
	case v < 1<<7:
		return append(b, byte(v))
	case v < 1<<11:
		return append(b, 0xC0|byte(v>>6), 0x80|byte(v&63))
	case v < 1<<16:
		return append(b, 0xE0|byte(v>>12), 0x80|byte(v>>6&63), 0x80|byte(v&63))
	}
	return append(b, 0xF0|byte(v>>18), 0x80|byte(v>>12&63), 0x80|byte(v>>6&63), 0x80|byte(v&63))
}

func TestFind(t *testing.T) {
	for _, variable := range []bool{false, true} {
		for _, frames := range []int{1, 2, 3, 50, 700} {
			b, starts := made(frames, 300, 17, variable, uint64(frames))
			f, err := Open(sound.OnDisk(bytes.NewReader(b), 4096))
			if err != nil || f.Rate != 44100 || f.Channels != 2 || f.Bits != 16 || len(f.Config) != ConfigSize {
				t.Fatal(f, err)
			}
			for sample := range f.Samples {
				if sample%7 > 0 && sample < f.Samples-20 {
					continue
				}
				fr, err := f.Find(sample)
				if err != nil || !fr.Has(sample) || fr.Offset != starts[sample/300] {
					t.Fatalf("%d frames: sample %d: %+v, %v", frames, sample, fr, err)
				}
			}
			fr, err := f.Find(0)
			if err != nil {
				t.Fatal(err)
			}
			for i := 1; i < frames; i++ {
				if fr, err = f.Next(fr); err != nil || fr.Offset != starts[i] {
					t.Fatalf("frame %d: %+v, %v", i, fr, err)
				}
			}
			if _, err := f.Next(fr); err == nil {
				t.Error("a frame follows the last one")
			}
		}
	}
}

// withSum appends the sum of a frame that ends in these bytes: to those that it covers.
func withSum(frame []byte) []byte { return binary.BigEndian.AppendUint16(frame, sum16(0, frame)) }

// A frame may have any bytes: those of the mark of another one, also behind a check sum
// that is right by chance; and its own sum may end in 0xFF.
func TestFramesThatLookLikeMore(t *testing.T) {
	head := func(number byte) []byte {
		b := []byte{0xFF, 0xF8, 0x79, 0x18, number, 1, 299 - 256}
		return append(b, sum8(b))
	}
	random := rand.New(rand.NewPCG(8, 8))
	noise := func() (b []byte) {
		for range random.IntN(500) {
			b = append(b, byte(random.Uint32()|random.Uint32()))
		}
		return b
	}
	for round := range tier.Cases(300, 30_000) {
		info, _ := made(1, 300, 300, false, 1)
		b := info[:49]
		binary.BigEndian.PutUint64(b[18:], 44100<<44|1<<41|15<<36|900)
		var starts []int
		for i := range 3 {
			frame := append(head(byte(i)), noise()...)
			if round%3 == i {
				frame = append(withSum(frame), 0xFF, 0xF8) // as where the frame ends
			}
			frame = withSum(append(frame, noise()...))
			if i == 2 {
				body := slices.Clip(frame[:len(frame)-2])
				for n := 0; frame[len(frame)-1] != 0xFF; n++ {
					frame = withSum(append(body, byte(n)))
				}
			}
			starts = append(starts, len(b))
			b = append(b, frame...)
		}
		for _, tail := range []string{"", "TAG" + string(make([]byte, 125)), "\x00\x00", "\xFF", "APETAGEX\xFF\xF8\xFF"} {
			f, err := Open(sound.InMemory(append(slices.Clip(b), tail...)))
			if err != nil {
				t.Fatalf("round %d, before %q: %v", round, tail, err)
			}
			fr, err := f.Find(0)
			for i, start := range starts {
				if err != nil || fr.Offset != int64(start) {
					t.Fatalf("round %d, before %q: frame %d: %+v, %v", round, tail, i, fr, err)
				}
				if i < 2 {
					fr, err = f.Next(fr)
				}
			}
			if end := fr.Offset + fr.Size; end < int64(len(b)) || tail == "" && end > int64(len(b)) {
				t.Fatalf("round %d, before %q: the last frame ends at %d, not %d", round, tail, end, len(b))
			}
		}
	}
}

// Files that were joined have two frames of each number: which is meant cannot be told.
func TestFilesThatWereJoined(t *testing.T) {
	for _, frames := range []int{1, 2, 3, 50, 300} {
		one, _ := made(frames, 300, 17, false, 1)
		for _, more := range []int{1, 2, 3, 50, 300} {
			other, _ := made(more, 300, 17, false, 2)
			f, err := Open(sound.InMemory(append(slices.Clip(one), other...)))
			if frames == more && err == nil { // the last frame is at the end, as it should be
				_, err = f.Find(0)
				for at := int64(0); err == nil && at < f.Samples; at += 100 {
					_, err = f.Find(at)
				}
			}
			if !errors.Is(err, media.ErrCorrupt) {
				t.Errorf("%d frames and %d: %v", frames, more, err)
			}
		}
	}
}

// A file that is cut off has the samples up to its last whole frame.
func TestKept(t *testing.T) {
	b, starts := made(50, 300, 17, false, 4)
	random := rand.New(rand.NewPCG(8, 8))
	for range 100 {
		cut := starts[1] + random.Int64N(int64(len(b))-starts[1])
		whole := 0
		for whole < 49 && starts[whole+1] <= cut {
			whole++
		}
		content := sound.OnDisk(bytes.NewReader(b[:cut]), 4096)
		if _, err := Open(content); !errors.Is(err, media.ErrCorrupt) {
			t.Fatalf("%d bytes: %v", cut, err)
		}
		f, short, err := OpenKept(content)
		if err != nil || !short || f.Samples != int64(300*whole) {
			t.Fatalf("%d bytes with %d frames: %+v, %v, %v", cut, whole, f, short, err)
		}
		if fr, err := f.Find(f.Samples - 1); err != nil || fr.Offset != starts[whole-1] {
			t.Fatalf("%d bytes: %+v, %v", cut, fr, err)
		}
	}
	if f, short, err := OpenKept(sound.InMemory(b)); err != nil || short || f.Samples != 49*300+17 {
		t.Errorf("a whole file: %+v, %v, %v", f, short, err)
	}
	if _, _, err := OpenKept(sound.InMemory(b[:starts[1]-1])); !errors.Is(err, media.ErrCorrupt) {
		t.Errorf("no whole frame: %v", err)
	}
	zeros := append(slices.Clone(b[:starts[20]]), make([]byte, 1<<20)...)
	if f, short, err := OpenKept(sound.InMemory(zeros)); err != nil || !short || f.Samples != 19*300 { // the end of the last is not seen
		t.Errorf("zeros at the end: %+v, %v, %v", f, short, err)
	}
	for _, frames := range []int{2, 10, 30, 70, 2000} {
		other, _ := made(frames, 300, 17, false, 2)
		other = other[:len(other)-1]
		if _, _, err := OpenKept(sound.InMemory(append(slices.Clip(b), other...))); !errors.Is(err, errJoined) {
			t.Errorf("joined with %d frames: %v", frames, err)
		}
	}
}

// Beside a frame that is damaged all others are found; but for the one before, where the
// two bytes are damaged at which that one would end. It is found itself, if its header is
// whole: its decoder has to tell.
func TestFindBesideDamage(t *testing.T) {
	b, starts := made(200, 300, 300, false, 9)
	random := rand.New(rand.NewPCG(3, 3))
	for range 300 {
		k := random.IntN(199) // the last one is looked at by Open
		bad := slices.Clone(b)
		at := random.Int64N(starts[k+1] - starts[k])
		bad[starts[k]+at] ^= 1 << random.IntN(8)
		f, err := Open(sound.InMemory(bad))
		if err != nil {
			t.Fatal(err)
		}
		for i := range starts {
			fr, err := f.Find(int64(300 * i))
			if ok := err == nil && fr.Offset == starts[i]; !ok && i != k && (i != k-1 || at > 1) || err == nil && fr.Offset != starts[i] {
				t.Fatalf("frame %d is damaged: frame %d: %+v, %v", k, i, fr, err)
			}
		}
	}
}

// Whatever is in a file, frames are found within it that have what is asked for.
func FuzzFind(f *testing.F) {
	one, _ := made(5, 64, 3, false, 1)
	other, _ := made(5, 64, 3, true, 2)
	f.Add(one, int64(100))
	f.Add(append(other, append([]byte("TAG"), make([]byte, 125)...)...), int64(0))
	f.Fuzz(func(t *testing.T, b []byte, sample int64) {
		file, err := Open(sound.InMemory(b))
		if err != nil {
			return
		}
		fr, err := file.Find(sample)
		if err == nil && (!fr.Has(sample) || fr.Offset < 42 || fr.Offset+fr.Size > int64(len(b))) {
			t.Fatalf("%+v in %d bytes, for %d", fr, len(b), sample)
		}
	})
}
