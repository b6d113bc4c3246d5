package mpa

import (
	"bytes"
	"errors"
	"testing"
)

// frames are n frames of MP3 of 64 kbit/s at 44,100 Hz, 208 bytes each.
func frames(n int) []byte {
	frame := make([]byte, 208)
	copy(frame, "\xff\xfb\x50\xc4")
	return bytes.Repeat(frame, n)
}

func adtsFrames(n int) []byte {
	frame := make([]byte, 20)
	copy(frame, "\xff\xf1\x50\x80\x02\x9f\xfc")
	return bytes.Repeat(frame, n)
}

func tagged(declared byte, frames []byte) []byte {
	first := bytes.Clone(frames[:208])
	copy(first[21:], "Info\x00\x00\x00\x0f\x00\x00\x00")
	first[32] = declared
	copy(first[4+17+8+4+4+100+4:], "LAME3.100")
	copy(first[4+17+8+4+4+100+4+21:], "\x24\x03\x00") // 576 before, 768 after
	return append(first, frames...)
}

func TestFrames(t *testing.T) {
	id3 := []byte("ID3\x04\x00\x00\x00\x00\x00\x05hello")
	for name, file := range map[string][]byte{
		"plain": frames(3), "ID3": append(id3, frames(3)...), "tail": append(frames(3), "TAG and so on"...), "zeros": append(frames(3), make([]byte, 100)...),
		"junk": append([]byte("junk"), frames(3)...), "ADTS": adtsFrames(3),
	} {
		f, err := Open(file)
		if err != nil || len(f.Frames) != 3 || f.Before != 0 || f.After != 0 {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
	f, err := Open(tagged(3, frames(3)))
	if err != nil || len(f.Frames) != 3 || f.Before != 576+529 || f.After != 768-529 {
		t.Errorf("tagged: %+v, %v", f, err)
	}
	if h, ok := Parse(adtsFrames(1)); !ok || h.Codec != "aac" || h.Rate != 44100 || h.Channels != 2 || h.Samples != 1024 {
		t.Errorf("%+v", h)
	}
}

func TestDamage(t *testing.T) {
	for name, file := range map[string][]byte{
		"empty": nil, "no frame": []byte("a text that is no recording"), "cut": frames(3)[:600], "in a header": frames(3)[:2*208+3],
		"junk": append(append(frames(3), "what is this?"...), frames(3)...), "too few": tagged(9, frames(3)), "tag alone": []byte("ID3\x04\x00\x00\x7f\x7f\x7f\x7f...."),
		"another rate": append(frames(2), "\xff\xfb\x58\xc4...................."...),
	} {
		if f, err := Open(file); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
}

// Of a file that is cut off or damaged, the frames that are there are found.
func TestKept(t *testing.T) {
	damaged := frames(9)
	copy(damaged[4*208+50:], make([]byte, 300)) // the header of the sixth, among others
	later := bytes.Clone(frames(9))
	copy(later[4*208:], "\xff\xfb\x50\x00") // a header that begins a frame, with no frame after it
	copy(later[5*208:], "....")
	for name, c := range map[string]struct {
		file  []byte
		want  int
		after int64
		short bool
	}{
		"whole":          {frames(3), 3, 0, false},
		"tagged":         {tagged(3, frames(3)), 3, 768 - 529, false},
		"a tail":         {append(frames(3), "TAG and so on"...), 3, 0, false},
		"cut":            {frames(3)[:600], 2, 0, true},
		"in a header":    {frames(3)[:2*208+3], 2, 0, true},
		"cut ADTS":       {adtsFrames(3)[:59], 2, 0, true},
		"too few":        {tagged(9, frames(3)), 3, 0, true},
		"junk":           {append(append(frames(3), "what is this?"...), frames(3)...), 6, 0, true},
		"damaged":        {damaged, 8, 0, true},
		"no header":      {later, 8, 0, true},
		"junk at an end": {append(tagged(9, frames(3)), make([]byte, 300)...), 3, 0, true},
	} {
		f, err := OpenKept(c.file)
		if err != nil || len(f.Frames) != c.want || f.Short != c.short || f.After != c.after {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
	for name, file := range map[string][]byte{"empty": nil, "no frame": []byte("a text that is no recording"), "in the first": frames(1)[:100]} {
		if f, err := OpenKept(file); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
}

// Whatever is in a file, its frames are within it, one after the other.
func FuzzOpen(f *testing.F) {
	f.Add(frames(2))
	f.Add(adtsFrames(3))
	f.Add(tagged(2, frames(2)))
	f.Add([]byte("ID3\x04\x00\x10\x00\x00\x00\x05hello"))
	f.Fuzz(func(t *testing.T, b []byte) {
		Probe(b)
		file, err := Open(b)
		if err != nil {
			if file, err = OpenKept(b); err != nil {
				return
			}
		}
		at := int64(0)
		for _, frame := range file.Frames {
			if frame.Offset < at || frame.Size <= 0 || frame.Offset+int64(frame.Size) > int64(len(b)) {
				t.Fatalf("%+v in %d bytes", frame, len(b))
			}
			at = frame.Offset + int64(frame.Size)
		}
		if len(file.Frames) == 0 || file.First.Rate <= 0 || file.First.Samples <= 0 || file.Before < 0 || file.After < 0 {
			t.Fatalf("%+v", file)
		}
	})
}
