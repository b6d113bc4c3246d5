package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Programs rest on what commands print: no property of the schemas in testdata goes, or
// becomes something else. New ones are welcome there, with -rewrite.
func TestResultsStay(t *testing.T) {
	for name := range results {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(resultSchema(name))
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", "results", name+".json")
			if *rewrite {
				os.MkdirAll(filepath.Dir(file), 0o755)
				if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			var was, is any
			kept, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			json.Unmarshal(kept, &was)
			json.Unmarshal(text, &is)
			for _, what := range gone("", was, is) {
				t.Errorf("%s: add what is new instead", what)
			}
		})
	}
}

// gone lists what a schema had and another one has not.
func gone(at string, was, is any) (all []string) {
	switch was := was.(type) {
	case map[string]any:
		is, ok := is.(map[string]any)
		if !ok {
			return []string{at + " is another kind"}
		}
		for _, name := range slices.Sorted(maps.Keys(was)) {
			if now, ok := is[name]; !ok && name != "description" {
				all = append(all, at+"/"+name+" has gone")
			} else if ok && name != "description" {
				all = append(all, gone(at+"/"+name, was[name], now)...)
			}
		}
	case []any:
		is, ok := is.([]any)
		if !ok {
			return []string{at + " is another kind"}
		}
		for i, one := range was {
			if text, ok := one.(string); ok { // required
				if !slices.Contains(is, any(text)) {
					all = append(all, fmt.Sprintf("%s: %q has gone", at, text))
				}
			} else if i >= len(is) {
				all = append(all, fmt.Sprintf("%s/%d has gone", at, i))
			} else {
				all = append(all, gone(fmt.Sprintf("%s/%d", at, i), one, is[i])...)
			}
		}
	default:
		if was != is {
			all = append(all, fmt.Sprintf("%s was %v and is %v", at, was, is))
		}
	}
	return all
}

func TestGone(t *testing.T) {
	was := map[string]any{"a": map[string]any{"type": "string", "description": "x"}, "required": []any{"a", "b"},
		"items": []any{map[string]any{"n": 1.0}}}
	is := map[string]any{"a": map[string]any{"type": "integer"}, "required": []any{"a"}, "items": []any{}, "new": true}
	got := strings.Join(gone("", was, is), "; ")
	if want := `/a/type was string and is integer; /items/0 has gone; /required: "b" has gone`; got != want {
		t.Errorf("%s", got)
	}
	if got := gone("", was, was); got != nil {
		t.Errorf("%v", got)
	}
}

func TestSchemaOfAResult(t *testing.T) {
	if got := invoke(t, "", "schema", "stats"); got.code != 0 || !strings.Contains(got.stdout, `"title": "headrace stats"`) {
		t.Errorf("%d %s %.300s", got.code, got.stderr, got.stdout)
	}
	if got := invoke(t, "", "schema", "stat"); got.code != exitUsage ||
		!strings.Contains(got.stderr, `unknown result "stat": did you mean "stats"? the results are bench, `) {
		t.Errorf("%+v", got)
	}
}
