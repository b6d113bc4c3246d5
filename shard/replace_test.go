package shard_test

import (
	"testing"
	"unicode/utf8"

	"github.com/headrace/headrace/shard"
)

// What bytes.decode("utf-8", "replace") of Python gives; python/tests/test_text_errors.py
// compares thousands of random texts.
func TestReplaced(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "",
		"plain é":                        "plain é",
		"caf\xe9":                        "caf\uFFFD",
		"\xff\xfe":                       "\uFFFD\uFFFD",
		"\xe2\x82":                       "\uFFFD",
		"\xe2\x82A\xe2\x82\xac":          "\uFFFDA€",
		"\xf0\x9f\x98\xe2\x82":           "\uFFFD\uFFFD",
		"\xc0\x80\xe0\x80\x80":           "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD",
		"\xed\xa0\x80":                   "\uFFFD\uFFFD\uFFFD",
		"\xf4\x90\x80\x80\xf5\x80":       "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD",
		"\uFFFD\x80\xf1\x80\x80\x80\x80": "\uFFFD\uFFFD\U00040000\uFFFD",
	} {
		if got := string(shard.Replaced([]byte(text))); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func FuzzReplaced(f *testing.F) {
	f.Add([]byte("a\xe2\x82\xff\xf0\x9f\x98"))
	f.Fuzz(func(t *testing.T, text []byte) {
		switch got := shard.Replaced(text); {
		case !utf8.Valid(got), len(got) > 3*len(text), utf8.Valid(text) && string(got) != string(text):
			t.Fatalf("%q became %q", text, got)
		}
	})
}
