package hostile

import (
	"testing"

	"github.com/headrace/headrace/media"
)

// Fuzz feeds anything to the decoder of a format, for any use, beginning with intact
// images and bombs.
func Fuzz(f *testing.F, d media.Decoder, format string) {
	for i, s := range Seeds(f, format) {
		f.Add(s.Data, uint8(i))
		f.Add(s.Data, uint8(i+1))
	}
	for i, s := range bombs(f, format) {
		if len(s.Data) < 2000 {
			f.Add(s.Data, uint8(i))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, n uint8) {
		u := uses[int(n)%len(uses)]
		for _, b := range [][]byte{data, recrcOf(data)} {
			if info, err := media.Probe(b); err == nil && info.Width > 1<<18/info.Height {
				continue
			}
			if _, bad, _ := misbehaviour(d, b, nil, u); bad != "" {
				t.Fatalf("%s: %s", u.name, bad)
			}
		}
	})
}

// recrcOf is a PNG with right check sums, and nothing of other formats.
func recrcOf(data []byte) []byte {
	if len(data) < len(pngMagic) || string(data[:len(pngMagic)]) != pngMagic {
		return nil
	}
	return recrc(data)
}

// FuzzProbe feeds anything to [media.Probe], beginning with intact images of all
// formats.
func FuzzProbe(f *testing.F) {
	for format := range seeds {
		for _, s := range Seeds(f, format) {
			f.Add(s.Data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if bad := misprobed(data); bad != "" {
			t.Fatal(bad)
		}
	})
}
