package lint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	widestComment = 90   // columns; a tab counts four
	longFunction  = 25   // lines from which a function needs paragraphs
	mostWalls     = 0.25 // share of long functions that may do without
	leastReasons  = 0.24 // share of them that say why inside; it only rises
)

// halfReasoned are folders in which at least half of the long functions say why inside.
var halfReasoned = []string{
	"extern", "internal/compile", "internal/export", "internal/resume", "internal/source", "internal/survey",
	"op", "serve", "store",
}

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
			if c.may == 0 || testing.Verbose() {
				t.Log(strings.Join(c.found, "\n"))
			}
		case n < c.may*9/10:
			t.Errorf("%s: %d lines are wider than %d columns, and %d may: lower the number", of, n, widestLine, c.may)
		}
	}
}

// A function of many lines is read step by step, if blank lines show the steps. A comment
// inside gives the reason for one that is not plain.
func TestLongFunctionsHaveParagraphsAndReasons(t *testing.T) {
	var long, reasons int
	var walls []string
	type count struct{ long, reasons int }
	in := map[string]*count{}
	for _, folder := range halfReasoned {
		in[folder] = new(count)
	}
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
			reason := 0
			if slices.ContainsFunc(lines[first:last-1], isCommentLine) {
				reason = 1
			}
			reasons += reason
			for folder, c := range in {
				if strings.HasPrefix(rel, folder+"/") {
					c.long, c.reasons = c.long+1, c.reasons+reason
				}
			}
		}
	})

	share, said := float64(len(walls))/float64(long), float64(reasons)/float64(long)
	t.Logf("of %d functions of %d lines and more, %d have no blank line (%.0f %%), %d a comment line (%.1f %%)",
		long, longFunction, len(walls), 100*share, reasons, 100*said)
	if share > mostWalls {
		t.Errorf("more than %.0f %% of the long functions have no paragraphs: put a blank line between their steps:\n%s",
			100*mostWalls, strings.Join(walls, "\n"))
	}
	switch {
	case said < leastReasons:
		t.Errorf("%.1f %% of the long functions have a comment line inside, at least %.1f %% must: say why beside the line",
			100*said, 100*leastReasons)
	case said > leastReasons+0.04:
		t.Errorf("%.1f %% of the long functions have a comment line inside: raise leastReasons", 100*said)
	}
	for folder, c := range in {
		if c.long == 0 || 2*c.reasons < c.long {
			t.Errorf("%s: %d of %d long functions have a comment line inside, at least half must: say why beside the line",
				folder, c.reasons, c.long)
		}
	}
}

func isCommentLine(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), "//") }

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
