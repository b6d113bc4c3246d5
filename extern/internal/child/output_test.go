package child

import (
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// Lines come whole, whatever pieces they are read in; long ones are cut, and the rest of
// them is dropped.
func TestEachLine(t *testing.T) {
	long := strings.Repeat("x", longestLine)
	for text, want := range map[string][]string{
		"":                         nil,
		"\n":                       {""},
		"one\ntwo\n":               {"one", "two"},
		"one\n\nlast":              {"one", "", "last"},
		long[1:] + "\nnext\n":      {long[1:], "next"},
		long + "\nnext\n":          {long, "next"},
		long + long + "tail\nnext": {long, "next"},
		"\xff\xfe\n":               {"\xff\xfe"},
		"one\r\ntwo":               {"one\r", "two"},
	} {
		for _, r := range []io.Reader{strings.NewReader(text), iotest.HalfReader(strings.NewReader(text))} {
			var got []string
			eachLine(r, func(line []byte) { got = append(got, string(line)) })
			if !slices.Equal(got, want) {
				t.Errorf("%d bytes give %d lines, want %d", len(text), len(got), len(want))
			}
		}
	}
}

// The log is JSON, a record a line. Anything else in it is dropped.
func TestReadLog(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w.WriteString(`{"stage": "map", "level": "DEBUG", "logger": "a.b", "message": "x"}
nonsense
{"message": "only this"}
{"logger": "stderr", "message": "complained", "level": "WARNING"}
[1]
`)
	w.Close()

	var out said
	c := &Child{tell: out.tell}
	c.readers.Add(1)
	c.readLog(r)
	want := []Line{
		{Stage: "map", Level: "DEBUG", Logger: "a.b", Message: "x"},
		{Message: "only this"},
		{Level: "WARNING", Logger: "stderr", Message: "complained"},
	}
	if got := out.all(); !slices.Equal(got, want) {
		t.Errorf("it said %+v", got)
	}
	if got := c.LastLines(); got != "complained" {
		t.Errorf("its last lines are %q", got)
	}
}

// The end of a text is kept, from the beginning of a line on, however much is written.
func TestLastLines(t *testing.T) {
	var l lastLines
	if got := l.String(); got != "" {
		t.Errorf("nothing is %q", got)
	}
	l.add([]byte("one"))
	l.add([]byte("two \xff"))
	if got := l.String(); got != "one\ntwo \uFFFD" {
		t.Errorf("it is %q", got)
	}

	line := []byte(strings.Repeat("0123456789", 5)) // 51 bytes with its end
	for range 10_000 {
		l.add(line)
	}
	got := l.String()
	if len(got) > keptText || len(got) < keptText-60 {
		t.Errorf("%d bytes are kept", len(got))
	}
	for kept := range strings.Lines(got + "\n") {
		if kept != string(line)+"\n" {
			t.Errorf("half a line: %q", kept)
		}
	}
	if cap(l.text) > 10*keptText {
		t.Errorf("it takes %d bytes", cap(l.text))
	}

	l.add([]byte(strings.Repeat("y", 3*keptText)))
	if got := l.String(); got != strings.Repeat("y", keptText-1) {
		t.Errorf("of a line that is too long %d bytes are kept", len(got))
	}
}
