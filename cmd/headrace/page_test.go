package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/internal/phototest"
)

var escapes = regexp.MustCompile("\x1b\\[[0-9]*m")

func TestPagesHaveShortLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(30, 80).Draw(t, "width")
		prefix := rapid.SampledFrom([]string{"", "  ", "│  ↓ ", "╭┴ ", "  source    "}).Draw(t, "prefix")
		text := rapid.StringMatching(`([a-zé…]{0,40} ){0,12}[a-z]{0,120}`).Draw(t, "text")
		more := rapid.StringMatching(`( [a-z]{0,20}){0,4}`).Draw(t, "more")
		plain, colourful := &page{width: width}, &page{width: width, colour: true}
		plain.line(prefix, plain.bold, text, more)
		colourful.line(prefix, colourful.bold, text, more)
		if got := escapes.ReplaceAllString(colourful.text.String(), ""); strings.ReplaceAll(got, " \n", "\n") != plain.text.String() && strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(plain.text.String()), " ") {
			t.Fatalf("%q in colours, %q without", got, plain.text.String())
		}
		var words []string
		for line := range strings.Lines(plain.text.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Fatalf("%d characters of %d: %q", n, width, line)
			}
			words = append(words, strings.Fields(strings.Trim(line, "│↓╭┴ \n"))...)
		}
		if got, want := strings.Join(words, ""), strings.Join(strings.Fields(prefix+text+more), ""); got != strings.TrimLeft(want, "│↓╭┴") {
			t.Fatalf("%q became %q", want, got)
		}
	})
}

// A terminal gets the words of a pipe, in lines that fit, and colours where it has them.
func TestInspectOnATerminal(t *testing.T) {
	root := phototest.Folder(t, 6)
	recipeIn(t, root, training)
	args := []string{"inspect", "r.yaml", "--set", "p=0.25"}
	piped := invoke(t, root, args...).stdout
	for _, c := range []struct {
		columns     uint16
		environment string
		widest      int
		colours     bool
	}{
		{120, "TERM=xterm", 80, true},
		{44, "TERM=xterm", 44, true},
		{7, "TERM=xterm", 30, true}, // no less than what can be read
		{120, "NO_COLOR=1", 80, false},
	} {
		slave, read := terminal(t, c.columns)
		inspect := exec.Command(program(t), args...)
		inspect.Dir, inspect.Stdout = root, slave
		inspect.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=", "HEADRACE_TEST_SIDE=9", c.environment)
		err := inspect.Run()
		said := strings.ReplaceAll(read(), "\r\n", "\n")
		if err != nil || strings.Contains(said, "\x1b[1m") != c.colours {
			t.Errorf("%d columns, %s: %v, it says %q", c.columns, c.environment, err, said)
		}
		text := escapes.ReplaceAllString(said, "")
		if c.widest == 80 && text != piped {
			t.Errorf("%s: it says\n%s\nand in a pipe\n%s", c.environment, text, piped)
		}
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(line) - 1; n > c.widest {
				t.Errorf("%d columns: %d characters: %s", c.columns, n, line)
			}
		}
		if letters(text) != letters(piped) {
			t.Errorf("%d columns: other words than in a pipe:\n%s", c.columns, text)
		}
	}
}

// letters are what is left of a text without frames and spaces.
func letters(text string) string {
	return regexp.MustCompile(`[\s│╭╰┬┴─]+`).ReplaceAllString(text, "")
}

// On a terminal bench tells how far it is in one line, which is empty in the end.
func TestBenchOnATerminal(t *testing.T) {
	root := phototest.Folder(t, 20)
	recipeIn(t, root, benched)
	slave, read := terminal(t, 80)
	var table bytes.Buffer
	bench := exec.Command(program(t), "bench", "r.yaml", "--seconds", "0.1", "--rounds", "2", "--workers", "1")
	bench.Dir, bench.Stdout, bench.Stderr = root, &table, slave
	err := bench.Run()
	said := read()
	want := regexp.MustCompile("^\r\x1b\\[Klisting the files for 1 worker\r\x1b\\[Kround 1 of 2, 1 worker: [0-9,.]+ samples/s, 0:0[0-9] left\r\x1b\\[Kround 2 of 2, 1 worker: [0-9,.]+ samples/s, 0:0[0-9] left\r\x1b\\[K$")
	if err != nil || !want.MatchString(said) || escapes.MatchString(table.String()) {
		t.Errorf("%v: %q\n%s", err, said, table.String())
	}
}

// Anyone who reads the JSON finds every key in the guide.
func TestKeysAreDocumented(t *testing.T) {
	root := phototest.Folder(t, 20)
	phototest.Spoil(t, root, "005.jpg")
	recipeIn(t, root, training)
	guide, err := os.ReadFile("../../docs/guide/bench-and-inspect.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"inspect", "--samples", "20"}, {"bench", "--seconds", "0.1", "--rounds", "1", "--workers", "1"}} {
		got := invoke(t, root, append(args, "r.yaml", "--set", "p=0.25", "--json")...)
		var document any
		if err := json.Unmarshal([]byte(got.stdout), &document); err != nil {
			t.Fatalf("%v: %s", err, got.stderr)
		}
		for key := range keysOf(document, map[string]bool{}) {
			if documented, _ := regexp.Match("[`.]"+key+"`", guide); !documented {
				t.Errorf("%s has the key %q", args[0], key)
			}
		}
	}
}

// keysOf collects the keys of objects, but for those of recipes and of the section
// loader.
func keysOf(document any, all map[string]bool) map[string]bool {
	switch document := document.(type) {
	case []any:
		for _, v := range document {
			keysOf(v, all)
		}
	case map[string]any:
		for key, v := range document {
			all[key] = true
			if key != "recipe" && key != "loader" {
				keysOf(v, all)
			}
		}
	}
	return all
}
