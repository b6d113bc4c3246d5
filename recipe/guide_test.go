package recipe_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the table of operations into the guide")

const guide = "../docs/guide/recipes.md"

// The guide has a table of all operations, which is made of what they say about
// themselves.
func TestTableOfOperations(t *testing.T) {
	page, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- the table of operations, written by go test ./recipe -rewrite -->\n", "<!-- its end -->\n"
	before, rest, ok := strings.Cut(string(page), begin)
	table, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatalf("%s has no place for the table, between %q and %q", guide, begin, end)
	}
	want := operationsTable()
	if table == want {
		return
	}
	if !*rewrite {
		t.Fatalf("the table of operations is not that of the operations; go test ./recipe -run Table -rewrite writes this one:\n%s", want)
	}
	if err := os.WriteFile(guide, []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

func operationsTable() string {
	var b strings.Builder
	b.WriteString("\n| operation | argument | takes | by default |\n|---|---|---|---|\n")
	for _, op := range builtin() {
		fmt.Fprintf(&b, "| **`%s`** | %s | | |\n", op.Name, cell(op.Doc))
		for _, a := range op.Arguments() {
			usual := ""
			switch {
			case a.Required:
				usual = "must be given"
			case a.Default != nil:
				usual = "`" + string(a.Default) + "`"
			}
			takes := a.Takes
			if a.Choices != nil {
				takes = "`" + strings.Join(a.Choices, "`, `") + "`"
			}
			fmt.Fprintf(&b, "| | `%s`: %s | %s | %s |\n", a.Name, cell(a.Doc), cell(takes), usual)
		}
	}
	return b.String() + "\n"
}

func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "*", `\*`, "[", `\[`, "]", `\]`).Replace(text)
}
