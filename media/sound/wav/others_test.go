package wav

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/sound"
)

// aiffFile is AIFF-C of one channel with so many samples, whose chunk has these bytes.
func aiffFile(how string, bits uint16, frames uint32, samples string) []byte {
	comm := binary.BigEndian.AppendUint32([]byte{0, 1}, frames)
	comm = append(binary.BigEndian.AppendUint16(comm, bits), "\x40\x0b\xfa\x00\x00\x00\x00\x00\x00\x00"+how+"\x00\x00"...)
	b := append([]byte("AIFCCOMM\x00\x00\x00\x18"), comm...)
	b = binary.BigEndian.AppendUint32(append(b, "SSND"...), uint32(8+len(samples)))
	b = append(append(b, make([]byte, 8)...), samples...)
	if len(samples)%2 != 0 {
		b = append(b, 0)
	}
	return append(binary.BigEndian.AppendUint32([]byte("FORM"), uint32(len(b))), b...)
}

func auFile(order binary.AppendByteOrder, how uint32, samples string) []byte {
	mark := ".snd"
	if order.String() == "LittleEndian" {
		mark = "dns."
	}
	b := []byte(mark)
	for _, n := range []uint32{24, uint32(len(samples)), how, 8000, 1} {
		b = order.AppendUint32(b, n)
	}
	return append(b, samples...)
}

func cafFile(how string, flags, width uint32, size int64, samples string) []byte {
	b := binary.BigEndian.AppendUint64([]byte("caff\x00\x01\x00\x00desc\x00\x00\x00\x00\x00\x00\x00\x20"), math.Float64bits(8000))
	b = append(b, how...)
	for _, n := range []uint32{flags, width, 1, 1, 8 * width} {
		b = binary.BigEndian.AppendUint32(b, n)
	}
	b = binary.BigEndian.AppendUint64(append(b, "data"...), uint64(size))
	return append(append(b, 0, 0, 0, 0), samples...)
}

// The byte that pads a chunk of an odd size is no sample, whether its writer counts it or
// not.
func TestOthers(t *testing.T) {
	big, little := binary.BigEndian, binary.LittleEndian
	for name, c := range map[string]struct {
		format sound.Format
		file   []byte
		want   []float32
	}{
		"AIFF, 8 bits":           {AIFF, aiffFile("NONE", 8, 3, "\x40\x80\x20"), []float32{0.5, -1, 0.25}},
		"AIFF, the pad counted":  {AIFF, aiffFile("NONE", 8, 3, "\x40\x80\x20\x00"), []float32{0.5, -1, 0.25}},
		"AIFF, 24 bits":          {AIFF, aiffFile("in24", 24, 1, "\x40\x00\x00\x00"), []float32{0.5}},
		"AIFF, 24 bits reversed": {AIFF, aiffFile("sowt", 24, 1, "\x00\x00\x40"), []float32{0.5}},
		"AIFF, 42n1":             {AIFF, aiffFile("42n1", 24, 1, "\x00\x00\x40"), []float32{0.5}},
		"AIFF, without a sign":   {AIFF, aiffFile("raw ", 8, 1, "\xC0"), []float32{0.5}},
		"AIFF, count is wrong":   {AIFF, aiffFile("twos", 16, 7, "\x40\x00\x80\x00"), []float32{0.5, -1}},
		"AU":                     {AU, auFile(big, 4, "\x40\x00\x00\x80\x00\x00"), []float32{0.5, -1}},
		"AU, little":             {AU, auFile(little, 4, "\x00\x00\x40\x00\x00\x80"), []float32{0.5, -1}},
		"AU, little floats":      {AU, auFile(little, 6, "\x00\x00\x00\x3F"), []float32{0.5}},
		"CAF":                    {CAF, cafFile("lpcm", 0, 1, 7, "\x40\x80\x20"), []float32{0.5, -1, 0.25}},
		"CAF, to the end":        {CAF, cafFile("lpcm", 2, 3, -1, "\x00\x00\x40"), []float32{0.5}},
		"CAF, floats":            {CAF, cafFile("lpcm", 3, 4, 8, "\x00\x00\x00\x3F"), []float32{0.5}},
	} {
		for _, where := range []string{"memory", "disk"} {
			s, err := c.format.Open(c.file, sound.Options{Track: -1})
			if where == "disk" {
				s, err = c.format.OpenAt(&disk{data: c.file}, sound.Options{})
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			got := make([]float32, s.Info().Samples)
			if err := s.Read(got, 0); err != nil || !slices.Equal(got, c.want) || s.Info().Rate != 8000 {
				t.Errorf("%s, in %s: %v, %+v, %v", name, where, got, s.Info(), err)
			}
		}
	}
}

func TestOthersRefused(t *testing.T) {
	for _, c := range []struct {
		format sound.Format
		file   []byte
		kind   error
		want   string
	}{
		{AIFF, aiffFile("ima4", 16, 1, "12"), sound.ErrCoded, `"ima4"`},
		{AIFF, aiffFile("NONE", 16, 2, "1234")[:62], media.ErrTruncated, "inside its chunk SSND"},
		{AIFF, []byte("FORM\x00\x00\x00\x04AIFC"), nil, "it has no chunk COMM"},
		{AIFF, aiffFile("NONE", 16, 2, "1234")[:50], media.ErrTruncated, "aiff: the file ends after 50 bytes"},
		{AIFF, append([]byte("FORM\x00\x00\x00\x24"), aiffFile("NONE", 16, 2, "")[8:44]...), nil, "it has no chunk SSND"},
		{AIFF, append([]byte("FORM\x00\x00\x00\x14AIFFCOMM\x00\x00\x00\x02"), 0, 1), nil, "COMM has 2 bytes"},
		{AU, auFile(binary.BigEndian, 24, "1"), sound.ErrCoded, "number 24"},
		{AU, auFile(binary.BigEndian, 23, "1"), nil, "number 23, G.721 or G.723, which is not supported"},
		{AU, auFile(binary.LittleEndian, 26, "1"), nil, "number 26, G.721 or G.723, which is not supported"},
		{AU, auFile(binary.BigEndian, 3, "1234")[:26], media.ErrTruncated, "inside its samples"},
		{AU, auFile(binary.LittleEndian, 3, "1234")[:26], media.ErrTruncated, "inside its samples"},
		{AU, []byte(".snd"), media.ErrTruncated, "inside the head"},
		{AU, append([]byte(".snd\x00\x00\x00\x08"), make([]byte, 16)...), nil, "in the head"},
		{CAF, cafFile("alac", 0, 0, 4, ""), sound.ErrCoded, `"alac"`},
		{CAF, cafFile("lpcm", 0, 2, 8, "12"), media.ErrTruncated, "inside its chunk data"},
		{CAF, []byte("caff\x00\x01\x00\x00data\x00\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00"), nil, "no chunk desc"},
	} {
		_, err := c.format.Open(c.file, sound.Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) || c.kind != nil && !errors.Is(err, c.kind) {
			t.Errorf("%v, should be about %s", err, c.want)
		}
	}
	for _, f := range []sound.Format{AIFF, AU, CAF} {
		if _, err := f.Open(auFile(binary.BigEndian, 3, "12"), sound.Options{Track: 1}); err == nil {
			t.Error(f.Name, "has a second track")
		}
	}
}

// What is there of a file that is cut off is read if that is asked for, and else the
// error says so.
func TestWhatIsThereOfAFileThatIsCutOff(t *testing.T) {
	four := "\x40\x00\x80\x00\x20\x00\x00\x00"
	little := "\x00\x40\x00\x80\x00\x20\x00\x00"
	mono := file(0x4000, -0x8000, 0x2000, 0)
	mono[22], mono[32] = 1, 2
	two := []string{"sample_rate -i 8000", "channel_count -i 1", "sample_n_bytes -i 2", "sample_count -i 4", "sample_byte_format -s2 01"}
	for name, c := range map[string]struct {
		format sound.Format
		file   []byte
	}{
		"AIFF":   {AIFF, aiffFile("twos", 16, 4, four)},
		"AU":     {AU, auFile(binary.BigEndian, 3, four)},
		"CAF":    {CAF, cafFile("lpcm", 0, 2, 12, four)},
		"WAV":    {Format, mono},
		"SPHERE": {Sphere, sphere([]byte(little), two...)},
	} {
		for cut, want := range [][]float32{{0.5, -1, 0.25, 0}, {0.5, -1, 0.25}, {0.5, -1, 0.25}, {0.5, -1}, {0.5, -1}} {
			cutOff := c.file[:len(c.file)-cut]
			for where, open := range map[string]func(sound.Options) (sound.Stream, error){
				"memory": func(o sound.Options) (sound.Stream, error) { return c.format.Open(cutOff, o) },
				"disk":   func(o sound.Options) (sound.Stream, error) { return c.format.OpenAt(&disk{data: cutOff}, o) },
			} {
				s, err := open(sound.Options{Keep: true})
				if err != nil {
					t.Fatalf("%s without %d bytes, in %s: %v", name, cut, where, err)
				}
				got := make([]float32, s.Info().Samples)
				if err := s.Read(got, 0); err != nil || !slices.Equal(got, want) || sound.Damaged(s) != (cut > 0) {
					t.Errorf("%s without %d bytes, in %s: %v, %v, %v", name, cut, where, got, sound.Damaged(s), err)
				}
				if _, err := open(sound.Options{}); (err != nil) != (cut > 0) || err != nil && !strings.Contains(err.Error(), sound.Remedy) {
					t.Errorf("%s without %d bytes, in %s: %v", name, cut, where, err)
				}
			}
		}
	}
	if _, err := AIFF.Open(aiffFile("NONE", 16, 2, "1234")[:30], sound.Options{}); err == nil || strings.Contains(err.Error(), sound.Remedy) {
		t.Errorf("nothing can be read: %v", err)
	}
}

// An error of reading is no end of a file.
func TestErrorsOfReadingAreNotKept(t *testing.T) {
	if _, err := AU.OpenAt(&failing{size: 4096}, sound.Options{Keep: true}); !errors.Is(err, errDisk) {
		t.Error(err)
	}
}

var errDisk = errors.New("the disk failed")

type failing struct{ size int64 }

func (f *failing) Size() int64                           { return f.size }
func (f *failing) ReadAt(p []byte, _ int64) (int, error) { return 0, errDisk }

func FuzzOthers(f *testing.F) {
	f.Add(aiffFile("NONE", 8, 3, "123"))
	f.Add(auFile(binary.BigEndian, 3, "1234"))
	f.Add(cafFile("lpcm", 0, 2, 8, "1234"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, format := range []sound.Format{AIFF, AU, CAF} {
			if !format.Is(b) {
				continue
			}
			s, err := format.Open(b, sound.Options{Keep: len(b)%2 == 0})
			if err != nil {
				continue
			}
			i := s.Info()
			if i.Samples < 0 || i.Samples*int64(i.Channels) > int64(len(b)) || i.Rate < 1 || i.Channels < 1 {
				t.Fatalf("%+v in %d bytes", i, len(b))
			}
			if err := s.Read(make([]float32, i.Samples*int64(i.Channels)), 0); err != nil {
				t.Fatal(err)
			}
		}
	})
}
