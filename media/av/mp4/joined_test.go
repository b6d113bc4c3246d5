package mp4

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/testvideo"
)

// Of files that were joined byte by byte the first index knows the first alone: the rest
// would be lost, or mixed with it.
func TestJoinedFilesAreRefused(t *testing.T) {
	names := []string{"frag.mp4", "fragboth.mp4", "fragedit.mp4", "front.mp4", "sound.mp4", "pcm.mov"}
	for _, first := range names {
		for _, second := range names {
			all := slices.Concat(testvideo.Read(t, first), testvideo.Read(t, second))
			err := read(t, all)
			if err == nil || !strings.Contains(err.Error(), "another file was joined") {
				t.Errorf("%s, then %s: %v", first, second, err)
			}
			if is := CheckJoined(bytes.NewReader(all), int64(len(all))); is == nil || is.Error() != err.Error() {
				t.Errorf("%s, then %s: %v, not %v", first, second, is, err)
			}
		}
	}
}

// An index that comes twice, and what else may follow a file, are no other file.
func TestWhatIsNotJoined(t *testing.T) {
	front, sound := testvideo.Read(t, "front.mp4"), testvideo.Read(t, "sound.mp4")
	index := func(data []byte) []byte {
		at := bytes.Index(data, []byte("moov")) - 4
		return data[at:][:int(data[at+2])<<8|int(data[at+3])]
	}
	frag := testvideo.Read(t, "frag.mp4")
	second := bytes.Index(frag[bytes.Index(frag, []byte("moof"))+4:], []byte("moof")) + bytes.Index(frag, []byte("moof"))
	for name, all := range map[string][]byte{
		"index at both ends": slices.Concat(front, index(front)),
		"index at the end":   slices.Concat(sound, index(sound)),
		"header repeated":    slices.Concat(frag[:second], frag[:bytes.Index(frag, []byte("moof"))-4], frag[second:]),
		"something else":     slices.Concat(front, []byte("....ftyp")),
		"a box":              slices.Concat(front, atom("free", "ftypmoov")),
	} {
		if err := CheckJoined(bytes.NewReader(all), int64(len(all))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := read(t, all); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range testvideo.Names("") {
		data := testvideo.Read(t, name)
		if err := CheckJoined(bytes.NewReader(data), int64(len(data))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
