package document

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/headrace/headrace/internal/rawjson"
)

func TestUnquoted(t *testing.T) {
	for text, want := range map[string]string{
		"": "null", "~": "null", "null": "null", "Null": "null", "NULL": "null", "nULL": `"nULL"`,
		"true": "true", "True": "true", "TRUE": "true", "false": "false", "False": "false", "FALSE": "false", "tRUE": `"tRUE"`,
		"yes": `"yes"`, "no": `"no"`, "on": `"on"`, "off": `"off"`, "y": `"y"`, "N": `"N"`,
		"0": "0", "-0": "-0", "12": "12", "+12": "12", "-12": "-12", "1.50": "1.50", ".5": "0.5",
		"-.5": "-0.5", "5.": "5.0", "1e3": "1e3", "1.e+3": "1.0e+3", "+.5E-3": "0.5E-3",
		"0.5": "0.5", "0e1": "0e1", "1_000": `"1_000"`, "1:30": `"1:30"`, "2001-01-01": `"2001-01-01"`,
		".": `"."`, "+": `"+"`, "-": `"-"`, "e5": `"e5"`, ".e5": `".e5"`, "--1": `"--1"`,
		"1e": `"1e"`, "inf": `"inf"`, "nan": `"nan"`, "0b1": `"0b1"`, "1.2.3": `"1.2.3"`, "v1": `"v1"`, "<<": `"<<"`, "=": `"="`,
	} {
		got, err := unquoted(text)
		if string(got) != want || err != nil || !json.Valid(got) {
			t.Errorf("%q is %s, %v, want %s", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"010": `must be 10, or "010" as text`, "00": `must be 0, or "00" as text`,
		"-08.5e3": `must be -8.5e3, or "-08.5e3" as text`, "0x1F": "must be finite decimal numbers",
		"0o7":  "must be finite decimal numbers",
		".inf": "must be finite", "-.Inf": "must be finite", ".NaN": "must be finite",
	} {
		if got, err := unquoted(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is %s, %v", text, got, err)
		}
	}
}

// What is meant to fill memory or stacks is refused before it does.
func TestHostileYAML(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'z'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", c-1), 9), ","))
	}
	var keys strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&keys, "k%d: 1\n", i)
	}
	for text, want := range map[string]string{
		bomb:                                   "1:4: has an anchor",
		strings.Repeat("[", 200_000):           "1:51: is nested more than 50 deep",
		strings.Repeat("{a: ", 200_000):        "1:201: is nested more than 50 deep",
		strings.Repeat("- ", 200_000):          "1:101: is nested more than 50 deep",
		strings.Repeat("? ", 200_000):          "1:1: has a key after a question mark",
		strings.Repeat("!a ", 200_000):         "1:1: has a tag",
		keys.String():                          "10001:7: has more than 10000 keys",
		strings.Repeat("a: ", 200_000):         "1:30002: has more than 10000 keys",
		strings.Repeat("#\n", 600_000):         " is larger than 1 MiB, the limit for YAML: write it as JSON, which may have 1024 MiB",
		"a: '" + strings.Repeat("x\n", 10_000): "1:4: is not valid YAML: could not find end character of single-quoted text",
	} {
		_, err := parseYAML([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q…: %v, want %s", text, err, want)
		}
	}
	// Nesting by indentation needs as much text as it is deep, for each level.
	var deep strings.Builder
	for i := range 1000 {
		deep.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	if _, err := parseYAML([]byte(deep.String())); err != nil {
		t.Error(err)
	}
}

func TestGuard(t *testing.T) {
	_, err := guard(func() (Document, error) { panic("lost") })
	if err == nil || err.Error() != "1:1: is not readable YAML: lost" {
		t.Error(err)
	}
}

// What a value looks like in YAML must not matter.
func TestShapesOfYAML(t *testing.T) {
	for text, want := range map[string]string{
		"- \n- a\n-\n":                           `[null,"a",null]`,
		"[a: 1, b]":                              `[{"a":1},"b"]`,
		"{a, b: , \"c\":1}":                      `{"a":null,"b":null,"c":1}`,
		"a:\n- 1\n- - 2\n  - b: 3\n    c: 4\n":   `{"a":[1,[2,{"b":3,"c":4}]]}`,
		"1: a\ntrue: b\n~: c\n'd': e\n":          `{"1":"a","true":"b","~":"c","d":"e"}`,
		"a: |\n  x\n   y\nb: >-\n  p\n  q\n":     `{"a":"x\n y\n","b":"p q"}`,
		"a: b\n   c\n":                           `{"a":"b c"}`,
		"a: \"\\x41\\u00e9\\U0001F600\ufffd\"\n": `{"a":"Aé😀` + "\ufffd" + `"}`,
		"a: \"x \ufffd\n  y\"\n":                 `{"a":"x ` + "\ufffd" + ` y"}`,
		"--- \na: 1\n...\n":                      `{"a":1}`,
		"# c\n---\na: 1 # d\n":                   `{"a":1}`,
		"a: {}\nb: []\nc: ''\n":                  `{"a":{},"b":[],"c":""}`,
		"a: 'it''s'\nb: a#b\nc: http://x\n":      `{"a":"it's","b":"a#b","c":"http://x"}`,
	} {
		s, err := parseYAML([]byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if !reflect.DeepEqual(meaning(t, s.Value), meaning(t, rawjson.Value(want))) {
			t.Errorf("%q is %s, want %s", text, s.Value, want)
		}
	}
}

// JSON means the same, when it is read as YAML.
func FuzzYAMLReadsJSON(f *testing.F) {
	for _, doc := range []string{
		`{"a": [1, -2.5e3, "x: y", true, null], "b": {"c": "é\n\"\\/"}}`, `[]`, `{}`, `"\udcff\ud83d\ude00 \u2028"`,
		`[{"a":{"b":[[]]}},"#","- x","{","\u0000","\u007f"]`, "{\n  \"a\" :\n 1\n}", `{"a":1,"a":2}`, `"` + "\ufffd" + `"`,
	} {
		f.Add(doc)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		v, err := rawjson.Parse([]byte(doc))
		if err != nil || !utf8.ValidString(doc) || len(doc) > 1000 {
			return
		}
		s, err := parseYAML([]byte(doc))
		if err != nil {
			checkRefusal(t, doc, err)
			return
		}
		if a, b := meaning(t, v), meaning(t, s.Value); !reflect.DeepEqual(a, b) {
			t.Fatalf("%q is %#v as JSON, and as YAML %#v", doc, a, b)
		}
	})
}

// checkRefusal allows what YAML may refuse of JSON.
func checkRefusal(t *testing.T, doc string, err error) {
	e := (*rawjson.SyntaxError)(nil)
	if !errors.As(err, &e) || e.Line < 1 || e.Column < 1 {
		t.Fatalf("%q is refused without a place: %v", doc, err)
	}
}

// meaning is what a value means: text with its bytes, numbers as written.
func meaning(t *testing.T, v rawjson.Value) any {
	switch v.Kind() {
	case rawjson.Object:
		var all [][2]any
		for key, m := range v.Members() {
			k, _ := rawjson.UnquoteBytes(key)
			all = append(all, [2]any{k, meaning(t, m)})
		}
		return all
	case rawjson.List:
		all := []any{}
		for _, e := range v.Elements() {
			all = append(all, meaning(t, e))
		}
		return all
	case rawjson.Text:
		s, err := rawjson.UnquoteBytes(v)
		return fmt.Sprint("text ", s, err)
	}
	return string(v)
}
