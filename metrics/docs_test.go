package metrics_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/headrace/headrace/metrics"
)

var rewrite = flag.Bool("rewrite", false, "write the table of the guide again")

// TestDocs: the guide has the table.
func TestDocs(t *testing.T) {
	const begin, end = "<!-- the series, written by go test ./metrics -run Docs -rewrite -->\n", "<!-- their end -->\n"
	const page = "../docs/guide/metrics.md"

	table := "| series | type | labels | |\n|---|---|---|---|\n"
	for _, s := range metrics.Table() {
		var labels []string
		for _, l := range s.Labels {
			labels = append(labels, "`"+l+"`")
		}
		table += fmt.Sprintf("| `%s` | %s | %s | %s |\n", s.Name, s.Type, strings.Join(labels, ", "), s.Help)
	}

	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	is, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatalf("%s has no place for the table", page)
	}
	if is == table {
		return
	}
	if !*rewrite {
		t.Fatalf("the table is another; go test ./metrics -run Docs -rewrite writes this:\n%s", table)
	}
	if err := os.WriteFile(page, []byte(before+begin+table+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
