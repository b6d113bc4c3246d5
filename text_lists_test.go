package headrace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	. "github.com/headrace/headrace"
	_ "github.com/headrace/headrace/shard/formats"
	shardindex "github.com/headrace/headrace/shard/index"
)

// A Go program gets lists of text as such, whether a sample has them or a batch.
func TestTextLists(t *testing.T) {
	t.Setenv(shardindex.Variable, t.TempDir())
	path := filepath.Join(t.TempDir(), "a.jsonl")
	lines := `{"name": "one", "tags": ["a", "b"], "deep": [["c"], []]}` + "\n" + `{"name": "two", "tags": [], "deep": []}` + "\n"
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	loader := openLoader(t, parseRecipe(t, `{"read":{"from":%q}},{"batch":{"size":2}}`, path), Config{}, Options{})
	b := nextOf(t, loader)
	defer b.Release()
	if got := fmt.Sprintf("%q", b.TextLists("tags")); got != `[["a" "b"] []]` {
		t.Errorf("tags are %s", got)
	}
	if got := fmt.Sprintf("%q", b.DeepTextLists("deep")); got != `[[["c"] []] []]` {
		t.Errorf("deep lists are %s", got)
	}
	if got := fmt.Sprintf("%q", b.Text("name")); got != `["one" "two"]` {
		t.Errorf("names are %s", got)
	}
	for what, is := range map[string]bool{"lists as text": b.Text("tags") != nil, "text as lists": b.TextLists("name") != nil,
		"deep lists as lists": b.TextLists("deep") != nil, "lists as deep ones": b.DeepTextLists("tags") != nil, "none": b.TextLists("x") != nil} {
		if is {
			t.Errorf("there are %s", what)
		}
	}
}
