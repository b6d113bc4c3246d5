package lint

import (
	"fmt"
	"go/ast"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"
)

// mostTangled is the size in lines of the largest tangle that a package may have. A
// tangle is a set of files each of which refers, over any number of others, to each of
// the rest: none of them can be read or changed without the others.
const mostTangled = 1300

// TestTangles prints the table of packages with -v.
func TestTangles(t *testing.T) {
	m := loadModule(t)
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "files\tlines\ttangled files\tlines\texported names\t  package")
	for _, p := range m.checked {
		if strings.Contains(p.dir, "testdata") {
			continue
		}
		worst := p.worstTangle()
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t  %s\n", len(p.files), p.lines(p.names()), len(worst), p.lines(worst), p.exported(), p.dir)

		if lines := p.lines(worst); lines > mostTangled {
			t.Errorf("%s: %d files of %d lines refer to each other in a circle: at most %d lines may; "+
				"move what others need into a package below: %s",
				p.dir, len(worst), lines, mostTangled, strings.Join(worst, " "))
		}
	}
	w.Flush() // into memory: no error
	t.Log("\n" + table.String())
}

// The search itself, on a package in which the answer is known.
func TestTanglesAreFound(t *testing.T) {
	p := &checkedPackage{files: map[string]*ast.File{}, size: map[string]int{}, uses: map[string]map[string]bool{}}
	for i, edges := range []string{"a>b", "b>c,d", "c>a", "d>e", "e>d", "f>a,d"} {
		from, to, _ := strings.Cut(edges, ">")
		p.files[from], p.size[from], p.uses[from] = nil, 1<<i, map[string]bool{}
		for name := range strings.SplitSeq(to, ",") {
			p.uses[from][name] = true
		}
	}
	if got := strings.Join(p.worstTangle(), " "); got != "d e" {
		t.Errorf("the largest tangle is %s, want that of 24 lines: d e", got)
	}
	p.size["a"] = 100
	if got := strings.Join(p.worstTangle(), " "); got != "a b c" {
		t.Errorf("the largest tangle is %s, want that of 106 lines: a b c", got)
	}
	p.uses["e"]["f"] = true
	if got := strings.Join(p.worstTangle(), " "); got != "a b c d e f" {
		t.Errorf("with an edge back, the largest tangle is %s, want all", got)
	}
}

// What counts as a reference: a name, a method and a field, in whichever file they are
// declared.
func TestReferencesAreResolved(t *testing.T) {
	m := loadModule(t)
	i := m.index["github.com/headrace/headrace/internal/lint/testdata/references"]
	if i == nil {
		t.Fatal("there is no package in testdata/references")
	}
	for from, want := range map[string]string{
		"type.go": "", "method.go": "type.go", "calls.go": "method.go type.go", "field.go": "name.go type.go",
		"name.go": "type.go", "generic.go": "", "instance.go": "generic.go",
	} {
		var got []string
		for _, name := range i.names() {
			if i.uses[filepath.Join(i.dir, from)][name] {
				got = append(got, filepath.Base(name))
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s refers to %q, want %q", from, got, want)
		}
	}
}
