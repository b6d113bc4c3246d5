package arrows

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestEveryImportHasItsArrow(t *testing.T) {
	root := moduleRoot(t)
	module := moduleName(t, root)
	allowed := make(map[[2]string]bool)
	for _, a := range arrows {
		key := [2]string{a.from, a.to}
		if _, twice := allowed[key]; twice {
			t.Errorf("table_test.go has two lines for %s → %s", a.from, a.to)
		}
		if a.reason == "" {
			t.Errorf("table_test.go gives no reason for %s → %s", a.from, a.to)
		}
		allowed[key] = false
	}
	for _, i := range imports(t, root, module) {
		key := [2]string{i.from, i.to}
		if _, ok := allowed[key]; !ok {
			t.Errorf("%s: %s may not import %s: internal/arrows/table_test.go has no line for it", i.file, i.from, i.to)
			continue
		}
		allowed[key] = true
	}
	for _, a := range arrows {
		if !allowed[[2]string{a.from, a.to}] {
			t.Errorf("table_test.go allows %s → %s, which nothing uses: take the line away", a.from, a.to)
		}
	}
}

func TestArrowsPointDown(t *testing.T) {
	below := make(map[string][]string)
	for _, a := range arrows {
		below[a.from] = append(below[a.from], a.to)
	}
	var walk func(at string, way []string)
	walk = func(at string, way []string) {
		if slices.Contains(way, at) {
			t.Fatalf("table_test.go has a circle: %s → %s", strings.Join(way, " → "), at)
		}
		for _, next := range below[at] {
			walk(next, append(slices.Clone(way), at))
		}
	}
	for from := range below {
		walk(from, nil)
	}
}

type use struct{ file, from, to string }

// imports reads every Go file that is not a test, whatever its build tags say, and
// returns what is outside the standard library.
func imports(t *testing.T, root, module string) []use {
	var all []use
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, name)
		if d.IsDir() {
			return skipFolder(rel)
		}
		if !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			target, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return fmt.Errorf("%s: %w", rel, err)
			}
			if target, outside := shorten(target, module); outside {
				all = append(all, use{rel, path.Dir(filepath.ToSlash(rel)), target})
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// skipFolder leaves out what is not part of the product: hidden and built folders,
// examples, benchmarks, test data.
func skipFolder(rel string) error {
	base := filepath.Base(rel)
	switch {
	case rel == ".":
		return nil
	case strings.HasPrefix(base, "."), base == "testdata", rel == "build", rel == "bin", rel == "python", rel == "examples", rel == "bench":
		return filepath.SkipDir
	}
	return nil
}

// shorten gives the name that table_test.go uses for an import path, and whether it lies
// outside the standard library.
func shorten(target, module string) (string, bool) {
	if target == "C" {
		return target, true
	}
	if target == module {
		return ".", true
	}
	if inside, ok := strings.CutPrefix(target, module+"/"); ok {
		return inside, true
	}
	parts := strings.Split(target, "/")
	if !strings.Contains(parts[0], ".") {
		return target, false
	}
	elements := 2 // of a module's path, as on go.uber.org
	if parts[0] == "github.com" || parts[0] == "golang.org" {
		elements = 3
	}
	return strings.Join(parts[:min(elements, len(parts))], "/"), true
}

func moduleRoot(t *testing.T) string {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(filepath.Dir(dir))
}

func moduleName(t *testing.T, root string) string {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(string(mod), "module "), "\n")
	return strings.TrimSpace(name)
}
