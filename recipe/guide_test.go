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

var rewrite = flag.Bool("rewrite", false, "write the tables of the guide and the Python methods")

const guide = "../docs/guide/recipes.md"

// Tables of the guide that are made of what operations say about themselves.
var tables = []struct {
	page, of string
	text     func() string
}{
	{guide, "operations", operationsTable},
	{"../docs/guide/from-pytorch.md", "transforms", transformsTable},
	{"../docs/guide/order-state-memory.md", "draws", drawsTable},
}

func TestTablesOfOperations(t *testing.T) {
	for _, table := range tables {
		page, err := os.ReadFile(table.page)
		if err != nil {
			t.Fatal(err)
		}
		begin, end := "<!-- the table of "+table.of+", written by go test ./recipe -rewrite -->\n", "<!-- its end -->\n"
		before, rest, ok := strings.Cut(string(page), begin)
		is, after, ended := strings.Cut(rest, end)
		if !ok || !ended {
			t.Fatalf("%s has no place for the table, between %q and %q", table.page, begin, end)
		}
		want := table.text()
		if is == want {
			continue
		}
		if !*rewrite {
			t.Errorf("%s: the table of %s is not made of the operations as they are; go test ./recipe -run Table -rewrite writes this one:\n%s",
				table.page, table.of, want)
		} else if err := os.WriteFile(table.page, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// transformsTable has a row for each call of another library.
func transformsTable() string {
	var b strings.Builder
	b.WriteString("\n| torchvision | Headrace |\n|---|---|\n")
	for _, op := range recipetest.Ops() {
		for _, call := range op.Others {
			fmt.Fprintf(&b, "| `%s` | `%s` |\n", call, instead(op, call))
		}
	}
	return b.String() + "\n"
}

// instead is the call of the operation's method instead of another library's.
func instead(op recipe.Op, call string) string {
	_, args, _ := strings.Cut(call, "(")
	if rest, ok := strings.CutPrefix(args, "image"); ok { // of a function
		args = strings.TrimPrefix(rest, ", ")
	}
	return "." + op.Name + "(" + args
}

// drawsTable has a row for each set of values that operations tell.
func drawsTable() string {
	var told []string
	by := map[string][]string{}
	for _, op := range recipetest.Ops() {
		if len(op.Told) == 0 {
			continue
		}
		values := "`" + strings.Join(op.Told, "`, `") + "`"
		if by[values] == nil {
			told = append(told, values)
		}
		by[values] = append(by[values], "`"+op.Name+"`")
	}
	var b strings.Builder
	b.WriteString("\n| operation | `values` |\n|---|---|\n")
	for _, values := range told {
		fmt.Fprintf(&b, "| %s | %s |\n", strings.Join(by[values], ", "), values)
	}
	return b.String() + "\n"
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
