package recipe_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/headrace/headrace/recipe"
)

var oddPaths = []string{
	"", "a/b.jpg", "é\U0001f4be", "\xff", "\x80\xfe/\xc3\xa9", "\xed\xb2\x80", "\xed\xa0\xbd\xed\xb2\xbe", "\xf0\x9f\x92", "\xc3", "a\"b\\c\n\t\x00\x1f\x7f", "\ufffd", "\ufffd\xff", "</script>&", "\u2028",
}

func FuzzPathRoundTrip(f *testing.F) {
	for _, p := range oddPaths {
		f.Add([]byte(p))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p := recipe.Path(b)
		// The whole way through encoding/json, which rewrites what a MarshalJSON gives.
		text, err := json.Marshal(map[string]recipe.Path{"p": p})
		if err != nil {
			t.Fatal(err)
		}
		var back map[string]recipe.Path
		if err := json.Unmarshal(text, &back); err != nil || back["p"] != p {
			t.Fatalf("%q became %s became %q, %v", p, text, back["p"], err)
		}
		if utf8.Valid(b) {
			var plain map[string]string
			if err := json.Unmarshal(text, &plain); err != nil || plain["p"] != string(p) {
				t.Fatalf("%q became %s, which encoding/json reads as %q, %v", p, text, plain["p"], err)
			}
		}
	})
}

// Whatever text is in a string, it is read as encoding/json reads it, or refused
// for its surrogates.
func FuzzPathFromJSON(f *testing.F) {
	for _, s := range []string{`"a"`, `"\u00e9\n\/\b\f\r\t\\\""`, `"\ud83d\udcbe"`, `"\udc80\udcff"`, `"\ud800"`, `"\ud800\u0041"`, `"\udc7f"`, `"\ud83d\ud83d\udc80"`, `"é"`, `null`, `3`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.TrimSpace(text) // as encoding/json hands it on
		var p recipe.Path
		var plain string
		err := p.UnmarshalJSON([]byte(text))
		other := json.Unmarshal([]byte(text), &plain)
		switch {
		case !json.Valid([]byte(text)): // encoding/json never hands such text on
		case other != nil && err == nil:
			t.Fatalf("%s is not text, and was read as %q", text, p)
		case err == nil && utf8.ValidString(string(p)) && !strings.Contains(text, `\ud`) && string(p) != plain:
			t.Fatalf("%s was read as %q, not as %q", text, p, plain)
		case err != nil && other == nil && utf8.ValidString(text) && !strings.Contains(plain, "\ufffd"):
			t.Fatalf("%s was refused: %v", text, err)
		}
	})
}

func TestPathsThatAreNone(t *testing.T) {
	for text, want := range map[string]string{
		`"\ud800"`:         `has the lone surrogate \ud800, which means nothing`,
		`"\ud83dx"`:        `has the lone surrogate \ud83d, which means nothing`,
		`"\udc7f"`:         `has the lone surrogate \udc7f, which means nothing`,
		`"\udd00"`:         `has the lone surrogate \udd00, which means nothing`,
		"\"\xff\"":         `is not valid UTF-8`,
		`3`:                `must be text`,
		`["a"]`:            `must be text`,
		`"\ud800\udc80\q"`: `has an escape that JSON does not know`,
	} {
		var p recipe.Path
		if err := p.UnmarshalJSON([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%s: %q, %v, want %s", text, p, err, want)
		}
	}
}

// Python's os.fsencode and os.fsdecode are the definition.
func TestPathsAgreeWithPython(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	paths := oddPaths
	for range 500 {
		var b []byte
		for range rng.IntN(8) {
			switch rng.IntN(3) {
			case 0:
				b = append(b, byte(rng.IntN(256)))
			case 1:
				b = utf8.AppendRune(b, rune(rng.IntN(0x11000)))
			default:
				b = append(b, "\xed\xb2\x80/a.é"[rng.IntN(8):]...)
			}
		}
		paths = append(paths, string(b))
	}
	var in bytes.Buffer
	for _, p := range paths {
		ours, err := json.Marshal(recipe.Path(p))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&in, "%x\n%s\n", p, ours)
	}
	python := exec.Command("python3", "-I", "-X", "utf8", "testdata/paths.py")
	python.Stdin = &in
	out, err := python.Output()
	if err != nil {
		t.Fatalf("python3: %v", err)
	}
	lines := strings.Split(string(out), "\n")
	for i, p := range paths {
		var theirs recipe.Path
		if err := json.Unmarshal([]byte(lines[2*i]), &theirs); err != nil || string(theirs) != p {
			t.Errorf("Python writes %q as %s, which was read as %q, %v", p, lines[2*i], theirs, err)
		}
		if back, err := hex.DecodeString(lines[2*i+1]); err != nil || string(back) != p {
			t.Errorf("Python reads what was written for %q as %q, %v", p, back, err)
		}
	}
}
