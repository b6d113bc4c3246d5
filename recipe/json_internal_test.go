package recipe

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// plain turns a value into what encoding/json makes of it.
func plain(t *testing.T, v value) any {
	switch v.kind() {
	case '{':
		m := map[string]any{}
		for key, member := range v.members() {
			k, err := unquote(key, false)
			if err != nil {
				t.Fatalf("%s: %v", key, err)
			}
			m[k] = plain(t, member)
		}
		return m
	case '[':
		l := []any{}
		for i, e := range v.elements() {
			if i != len(l) {
				t.Fatalf("element %d has the number %d", len(l), i)
			}
			l = append(l, plain(t, e))
		}
		return l
	case '"':
		s, err := unquote(v, false)
		if err != nil {
			t.Fatalf("%s: %v", v, err)
		}
		return s
	case 'b':
		return v[0] == 't'
	case 'n':
		return nil
	}
	var x float64
	if err := json.Unmarshal(v, &x); err != nil {
		t.Fatalf("%s: %v", v, err)
	}
	return x
}

func FuzzValue(f *testing.F) {
	for _, s := range []string{`{}`, ` [ ] `, `{"a":1,"b":[true,false,null],"c":{"d":"}]\""}}`, `[1,-2.5e3,"\\",{"":[]}]`, `"x"`, `3`, `null`, "[\t\n[\r],[[1 ] ,2 ] ]", `{"a":1,"a":2}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		var want any
		wrong := json.Unmarshal([]byte(doc), &want)
		v, err := parseJSON([]byte(doc))
		if err != nil {
			if wrong == nil || !strings.HasPrefix(err.Error(), "recipe:") {
				t.Fatalf("%q was refused: %v", doc, err)
			}
			return
		}
		// A number may be too large for encoding/json; surrogates and bytes that are not UTF-8 it replaces.
		if wrong != nil || !utf8.ValidString(doc) || strings.Contains(strings.ToLower(doc), `\ud`) {
			return
		}
		if got := plain(t, v); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q was read as %v, want %v", doc, got, want)
		}
	})
}

func TestSyntaxErrorsSayWhere(t *testing.T) {
	for doc, want := range map[string]string{
		"{\n  \"a\": 1,\n  b}": "recipe:3:3: invalid character 'b' looking for beginning of object key string",
		"":                     "recipe:1:1: unexpected end of JSON input",
		"[1]]":                 "recipe:1:4: invalid character ']' after top-level value",
		"{\"é\": x}":           "recipe:1:7: invalid character 'x' looking for beginning of value",
	} {
		if _, err := parseJSON([]byte(doc)); err == nil || err.Error() != want {
			t.Errorf("%q:\ngot  %v\nwant %s", doc, err, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"size", "size", 0}, {"siez", "size", 1}, {"sizes", "size", 1}, {"resise", "resize", 1}, {"kitten", "sitting", 3}, {"ab", "ba", 1}, {"abcd", "badc", 2},
	} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("from %q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
		if got := distance(c.b, c.a); got != c.want {
			t.Errorf("from %q to %q: %d, want %d", c.b, c.a, got, c.want)
		}
	}
}

// A name that has nothing to do with any known one has no nearest: a wrong guess misleads.
func TestNearest(t *testing.T) {
	known := []string{"size", "max_size", "p"}
	for name, want := range map[string]string{"siz": "size", "Size": "size", "maxsize": "max_size", "colour": "", "q": "p", "prob": "", "": "p"} {
		if got := nearest(name, known); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestPositionIsSafe(t *testing.T) {
	for _, read := range []int{math.MinInt, -1, 0, 1, 5, math.MaxInt} {
		if line, column := position([]byte("a\nb"), read); line < 1 || column < 1 {
			t.Errorf("%d: %d:%d", read, line, column)
		}
	}
}
