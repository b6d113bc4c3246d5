package textlist

import (
	"bytes"
	"errors"
	"testing"
)

func plain(dst, text []byte) ([]byte, error) { return append(dst, text...), nil }

func TestPackedLists(t *testing.T) {
	words := func(all ...string) (stream []byte) {
		for _, w := range all {
			stream = AppendText(stream, w)
		}
		return stream
	}
	nested := append(AppendMark(nil, 1), words("a", "bc")...)
	nested = AppendMark(nested, 1)
	nested = append(AppendMark(nested, 1), words("")...)
	for want, list := range map[string]struct {
		stream []byte
		axes   int
	}{
		"\x00\x00\x00\x00\x00\x00\x00\x00":                                                 {nil, 1},
		"\x02\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x03\x00\x00\x00abc":              {words("a", "bc"), 1},
		"\x01\x00\x00\x00\x00\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00": {AppendMark(nil, 1), 2},
		"\x03\x00\x00\x00\x00\x00\x00\x00\x13\x00\x00\x00\x1b\x00\x00\x00\x27\x00\x00\x00" +
			"\x02\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x03\x00\x00\x00abc" + "\x00\x00\x00\x00\x00\x00\x00\x00" +
			"\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00": {nested, 2},
	} {
		if got, err := Pack(nil, list.stream, list.axes, plain); err != nil || string(got) != want {
			t.Errorf("%q of %d axes is %q, %v, want %q", list.stream, list.axes, got, err, want)
		}
	}
}

// A stream is a range of a file that an index names, so anything can be in it.
func FuzzPack(f *testing.F) {
	f.Add([]byte("\x01\x00\x00\x00a"), 1)
	f.Add(AppendText(AppendMark(AppendMark(nil, 1), 2), "b"), 3)
	f.Fuzz(func(t *testing.T, stream []byte, axes int) {
		axes = min(max(axes, 1), MostAxes)
		got, err := Pack([]byte("before"), stream, axes, plain)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
			return
		}
		if !bytes.HasPrefix(got, []byte("before")) || len(got) > 14+3*len(stream) {
			t.Fatalf("%q became %q", stream, got)
		}
	})
}
