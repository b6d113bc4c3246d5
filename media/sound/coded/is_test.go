package coded

import "testing"

func TestIs(t *testing.T) {
	for file, want := range map[string]bool{
		"fLaC": true, "OggS....": true, "RIFF\x00\x00\x00\x00AVI ": true, "RIFF\x00\x00\x00\x00WAVE": true, "Creative Voice File\x1a": true, "FORM\x00\x00\x00\x00AIFC": true, "FORM\x00\x00\x00\x00ILBM": false,
		".snd\x00\x00\x00\x18...................": true, "xsnd": false, "\x00\x00\x00\x18ftypM4A ": true, "": false, "a text": false, "Garbage": false,
	} {
		if Is([]byte(file)) != want {
			t.Errorf("%q: %v", file, !want)
		}
	}
}
