package recipe_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/recipetest"
	"github.com/headrace/headrace/recipe"
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

// operationsTable has a row for each argument, but one row for all arguments that are the
// same as in an earlier operation. The page says that operations on images have field and
// fields; resize, the first of them, has the rows.
func operationsTable() string {
	var b strings.Builder
	b.WriteString("\n| | takes | |\n|---|---|---|\n")
	seen := map[string]string{} // rows, and the operations that they were first written for
	for _, op := range recipetest.Ops() {
		fmt.Fprintf(&b, "| **`%s`** | | %s |\n", op.Name, cell(op.Doc))

		var earlier []string
		repeated := map[string][]string{}
		for _, a := range op.Arguments() {
			row := argumentRow(a)
			of, ok := seen[row]
			if !ok {
				of, ok = strings.CutPrefix(a.Doc, "as for ")
				ok = ok && !strings.ContainsAny(of, " ,")
			}
			if of == "resize" && strings.HasPrefix(a.Name, "field") {
				continue
			}
			if !ok || !isOperation(of) {
				seen[row] = op.Name
				b.WriteString(row)
				continue
			}
			if repeated[of] == nil {
				earlier = append(earlier, of)
			}
			repeated[of] = append(repeated[of], "`"+a.Name+"`")
		}
		for _, of := range earlier {
			fmt.Fprintf(&b, "| %s | | as for `%s` |\n", strings.Join(repeated[of], ", "), of)
		}
	}
	return b.String() + "\n"
}

func isOperation(name string) bool {
	_, ok := recipe.Find(name)
	return ok
}

func argumentRow(a recipe.Argument) string {
	takes := cell(a.Takes)
	if a.Choices != nil {
		takes = "`" + strings.Join(a.Choices, "`, `") + "`"
	}
	switch {
	case a.Required:
		takes += "; required"
	case a.Default != nil:
		takes += "; default `" + strings.Trim(string(a.Default), `"`) + "`"
	}
	return fmt.Sprintf("| `%s` | %s | %s |\n", a.Name, takes, cell(a.Doc))
}

func cell(text string) string {
	parts := strings.Split(quoted.ReplaceAllString(text, "$1`$2`"), "`")
	for i := 0; i < len(parts); i += 2 { // not in code
		parts[i] = strings.NewReplacer("|", `\|`, "*", `\*`, "[", `\[`, "]", `\]`).Replace(parts[i])
	}
	return strings.Join(parts, "`")
}
