package rawjson

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// plain turns a value into what encoding/json makes of it.
func plain(t *testing.T, v Value) any {
	switch v.Kind() {
	case Object:
		m := map[string]any{}
		for key, member := range v.Members() {
			k, err := Unquote(key)
			if err != nil {
				t.Fatalf("%s: %v", key, err)
			}
			m[k] = plain(t, member)
		}
		return m
	case List:
		l := []any{}
		for i, e := range v.Elements() {
			if i != len(l) {
				t.Fatalf("element %d has the number %d", len(l), i)
			}
			l = append(l, plain(t, e))
		}
		return l
	case Text:
		s, err := Unquote(v)
		if err != nil {
			t.Fatalf("%s: %v", v, err)
		}
		return s
	case Bool:
		return v[0] == 't'
	case Null:
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
		v, err := Parse([]byte(doc))
		if err != nil {
			if _, placed := err.(*SyntaxError); wrong == nil || !placed {
				t.Fatalf("%q was refused: %v", doc, err)
			}
			return
		}
		// A number may be too large for encoding/json; surrogates and bytes that are
		// not UTF-8 it replaces.
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
		"{\n  \"a\": 1,\n  b}": "3:3: invalid character 'b' looking for beginning of object key string",
		"":                     "1:1: unexpected end of JSON input",
		"[1]]":                 "1:4: invalid character ']' after top-level value",
		"{\"é\": x}":           "1:7: invalid character 'x' looking for beginning of value",
	} {
		if _, err := Parse([]byte(doc)); err == nil || err.Error() != want {
			t.Errorf("%q:\ngot  %v\nwant %s", doc, err, want)
		}
	}
}

func TestPositionIsSafe(t *testing.T) {
	for _, read := range []int{math.MinInt, -1, 0, 1, 5, math.MaxInt} {
		if line, column := Position([]byte("a\nb"), read); line < 1 || column < 1 {
			t.Errorf("%d: %d:%d", read, line, column)
		}
	}
}
