package wav

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/headrace/headrace/media/sound"
)

// file is a WAV file of two channels and 16 bits.
func file(samples ...int16) []byte {
	b := []byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x02\x00\x40\x1f\x00\x00\x00\x7d\x00\x00\x04\x00\x10\x00data")
	b = binary.LittleEndian.AppendUint32(b, uint32(2*len(samples)))
	for _, s := range samples {
		b = binary.LittleEndian.AppendUint16(b, uint16(s))
	}
	return b
}

func TestReading(t *testing.T) {
	s, err := sound.Open(file(0, 1<<14, -1<<15, 1<<13), -1)
	if !errors.Is(err, sound.ErrUnknown) || s != nil {
		t.Fatal("nobody has registered the format", err)
	}
	f, err := open(sound.InMemory(file(0, 1<<14, -1<<15, 1<<13)), false)
	if err != nil || f.Info() != (sound.Info{Rate: 8000, Channels: 2, Samples: 2}) {
		t.Fatal(f, err)
	}
	got := make([]float32, 2)
	if err := f.Read(got, 1); err != nil || !slices.Equal(got, []float32{-1, 0.25}) {
		t.Error(got, err)
	}
	for _, from := range []int64{-1, 2, 1 << 62} {
		if f.Read(got, from) == nil {
			t.Errorf("samples from %d on were read", from)
		}
	}
}

// A disk is a file that is not in memory. It notes how many bytes were read.
type disk struct {
	data []byte
	read int
}

func (d *disk) Size() int64 { return int64(len(d.data)) }

func (d *disk) ReadAt(p []byte, at int64) (int, error) {
	n := copy(p, d.data[min(at, int64(len(d.data))):])
	d.read += n
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func TestAWindowCostsItsBytes(t *testing.T) {
	d := &disk{data: file(make([]int16, 2<<20)...)}
	copy(d.data[44+2<<20:], "\x00\x40\x00\x80")
	s, err := Format.OpenAt(d, sound.Options{Track: -1})
	if err != nil {
		t.Fatal(err)
	}
	got := make([]float32, 2<<10)
	if err := s.Read(got, 1<<19); err != nil || !slices.Equal(got[:2], []float32{0.5, -1}) {
		t.Error(got[:2], err)
	}
	if d.read > together+4<<10 {
		t.Errorf("%d bytes were read for %d", d.read, 4<<10)
	}

	d.data = d.data[:2<<20]
	if err := s.Read(got, 1<<19); !errors.Is(err, errWAV) {
		t.Error("a file that became shorter:", err)
	}
}

// Whatever a file says, it is refused, or its samples can be read from the first to the
// last, and no others: the same in memory and from a disk.
func FuzzOpen(f *testing.F) {
	f.Add(file(1, 2, 3, 4))
	f.Add(append([]byte("RF64\xff\xff\xff\xffWAVEds64\x1c\x00\x00\x00"+string(make([]byte, 8))+"\x08\x00\x00\x00\x00\x00\x00\x00"+string(make([]byte, 12))), file(1, 2, 3, 4)[12:]...))
	f.Add(slices.Concat(w64Riff, make([]byte, 8), w64Wave, []byte("fmt "), make([]byte, 12), []byte("\x28\x00\x00\x00\x00\x00\x00\x00"), file()[20:36], []byte("data"), make([]byte, 12), []byte("\x20\x00\x00\x00\x00\x00\x00\x00"), make([]byte, 8)))
	f.Add(append(file(1, 2, 3, 4), file(1, 2)[36:]...))
	wide := file(1, 2, 3, 4)
	wide[32] = 8
	f.Add(wide)
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := open(sound.InMemory(b), false)
		apart, same := Format.OpenAt(&disk{data: b}, sound.Options{})
		if fmt.Sprint(err) != fmt.Sprint(same) {
			t.Fatalf("in memory: %v; from a disk: %v", err, same)
		}
		if err != nil {
			return
		}
		i := r.Info()
		if i.Samples < 0 || i.Samples*int64(i.Channels) > int64(len(b)) || i.Rate < 1 || i.Channels < 1 {
			t.Fatalf("%+v in %d bytes", i, len(b))
		}
		all := make([]float32, i.Samples*int64(i.Channels))
		if err := r.Read(all, 0); err != nil {
			t.Fatal(err)
		}
		again := make([]float32, len(all))
		if err := apart.Read(again, 0); err != nil || apart.Info() != i || !bytes.Equal(bitsOf(all), bitsOf(again)) {
			t.Fatalf("from a disk: %+v, %v, %v", apart.Info(), again, err)
		}
		if err := r.Read(make([]float32, i.Channels), i.Samples); err == nil {
			t.Fatal("a sample after the last was read")
		}
	})
}

// bitsOf tells numbers apart that are none.
func bitsOf(all []float32) []byte {
	b, _ := binary.Append(nil, binary.LittleEndian, all)
	return b
}

// A clip of five seconds.
func BenchmarkCodings(b *testing.B) {
	to, from := make([]float32, 441_000), make([]byte, 8*441_000)
	for _, c := range []struct {
		name  string
		code  coding
		width int
	}{{"pcm8", pcm8, 1}, {"pcm16", pcm16, 2}, {"pcm24", pcm24, 3}, {"pcm32", pcm32, 4}, {"float", float, 4}, {"double", double, 8}} {
		b.Run(c.name, func(b *testing.B) {
			for range b.N {
				c.code(to, from[:c.width*len(to)])
			}
		})
	}
}
