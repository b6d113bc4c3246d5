package lint

import (
	"strings"
	"testing"
)

// Every package has one doc comment, and it opens with one sentence that says what the
// package is.
func TestPackageDocs(t *testing.T) {
	for _, p := range goPackages(t) {
		var docs []string
		for name, file := range p.files {
			if file.Doc != nil {
				docs = append(docs, name)
				checkOpening(t, name, p.name, file.Doc.Text())
			}
		}
		switch len(docs) {
		case 0:
			t.Errorf("%s: package %s has no doc comment: write one into %s/doc.go", p.dir, p.name, p.dir)
		case 1:
		default:
			t.Errorf("%s: package %s has doc comments in %v: keep one", p.dir, p.name, docs)
		}
	}
}

func checkOpening(t *testing.T, file, pkg, text string) {
	opening, _, _ := strings.Cut(text, "\n\n")
	opening = strings.Join(strings.Fields(opening), " ")
	wanted := "Package " + pkg + " "
	if pkg == "main" {
		wanted = "Command "
	}
	if !strings.HasPrefix(opening, wanted) {
		t.Errorf("%s: the package doc opens with %q, not with %q", file, firstWords(opening), wanted)
	}
	if !strings.HasSuffix(opening, ".") {
		t.Errorf("%s: the first paragraph of the package doc is not a sentence: it ends without a full stop", file)
	}
	if strings.Contains(strings.TrimSuffix(opening, "."), ". ") {
		t.Errorf("%s: the first paragraph of the package doc is more than one sentence: go on in a second paragraph", file)
	}
}

func firstWords(s string) string {
	words := strings.Fields(s)
	return strings.Join(words[:min(4, len(words))], " ")
}
