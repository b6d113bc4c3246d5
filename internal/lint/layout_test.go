package lint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	widestComment = 90   // columns; a tab counts four
	longFunction  = 25   // lines from which a function needs paragraphs
	mostWalls     = 0.25 // share of long functions that may do without
)

// Comments are read in narrow windows and beside diffs. Code, output and tables in them
// keep their lines.
func TestCommentsAreWrapped(t *testing.T) {
	eachGoFile(t, func(rel string, text []byte, file *ast.File, set *token.FileSet) {
		lines := strings.Split(string(text), "\n")
		for _, group := range file.Comments {
			if isOutput(group.Text()) {
				continue
			}
			for _, c := range group.List {
				at := set.Position(c.Pos())
				line := lines[at.Line-1]
				alone := strings.TrimSpace(line[:at.Column-1]) == ""
				if width := columns(line); alone && isProse(c.Text) && width > widestComment {
					t.Errorf("%s:%d: a comment is %d columns wide: wrap it at %d", rel, at.Line, width, widestComment)
				}
			}
		}
	})
}

// Lines of product and of tests that are wider than widestLine. The numbers only fall.
const (
	widestLine       = 140
	wideProductLines = 0
	wideTestLines    = 1636
)

// A line that is read beside another file, or in a review, fits on half a screen.
func TestLinesAreNotWide(t *testing.T) {
	var product, tests []string
	eachGoFile(t, func(rel string, text []byte, _ *ast.File, _ *token.FileSet) {
		for i, line := range strings.Split(string(text), "\n") {
			switch place := fmt.Sprintf("%s:%d", rel, i+1); {
			case columns(line) <= widestLine:
			case strings.HasSuffix(rel, "_test.go"):
				tests = append(tests, place)
			default:
				product = append(product, place)
			}
		}
	})
	for of, c := range map[string]struct {
		found []string
		may   int
	}{"product": {product, wideProductLines}, "tests": {tests, wideTestLines}} {
		switch n := len(c.found); {
		case n > c.may:
			t.Errorf("%s: %d lines are wider than %d columns, and %d may: break them (-v lists all)", of, n, widestLine, c.may)
			if testing.Verbose() {
				t.Log(strings.Join(c.found, "\n"))
			}
		case n < c.may*9/10:
			t.Errorf("%s: %d lines are wider than %d columns, and %d may: lower the number", of, n, widestLine, c.may)
		}
	}
}

// A function of many lines is read step by step, if blank lines show where the steps are.
func TestLongFunctionsHaveParagraphs(t *testing.T) {
	var long int
	var walls []string
	eachGoFile(t, func(rel string, text []byte, file *ast.File, set *token.FileSet) {
		if strings.HasSuffix(rel, "_test.go") {
			return
		}
		lines := strings.Split(string(text), "\n")
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			first, last := set.Position(f.Body.Lbrace).Line, set.Position(f.Body.Rbrace).Line
			if last-first-1 < longFunction {
				continue
			}
			long++
			if !hasBlank(lines[first : last-1]) {
				walls = append(walls, rel+": "+f.Name.Name)
			}
		}
	})

	share := float64(len(walls)) / float64(long)
	t.Logf("%d of %d functions of %d lines and more have no blank line (%.0f %%)", len(walls), long, longFunction, 100*share)
	if share > mostWalls {
		t.Errorf("more than %.0f %% of the long functions have no paragraphs: put a blank line between their steps:\n%s",
			100*mostWalls, strings.Join(walls, "\n"))
	}
}

// eachGoFile calls visit with every Go file of the tree, tests among them.
func eachGoFile(t *testing.T, visit func(rel string, text []byte, file *ast.File, set *token.FileSet)) {
	walkSources(t, func(rel string) {
		if !strings.HasSuffix(rel, ".go") {
			return
		}
		text, err := os.ReadFile(filepath.Join(root(t), rel))
		if err != nil {
			t.Fatal(err)
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, rel, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		visit(rel, text, file, set)
	})
}

// isOutput tells the comment that an example's output is compared with.
func isOutput(text string) bool {
	opening, _, _ := strings.Cut(strings.ToLower(text), ":")
	return opening == "output" || opening == "unordered output"
}

// isProse is false for what gofmt takes as code, and for directives.
func isProse(comment string) bool {
	text, found := strings.CutPrefix(comment, "// ")
	return found && !strings.HasPrefix(text, " ")
}

func columns(line string) int {
	return len([]rune(strings.ReplaceAll(line, "\t", "    ")))
}

func hasBlank(lines []string) bool {
	for _, l := range lines {
		if strings.TrimSpace(l) == "" {
			return true
		}
	}
	return false
}
