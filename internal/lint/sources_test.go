package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

// A goPackage is the files of one folder that are compiled into one package, tests left
// out.
type goPackage struct {
	dir   string
	name  string
	files map[string]*ast.File
}

// goPackages parses the whole module.
func goPackages(t *testing.T) []goPackage {
	byDir := make(map[string]*goPackage)
	walkSources(t, func(rel string) {
		if !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root(t), rel), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Dir(rel)
		if byDir[dir] == nil {
			byDir[dir] = &goPackage{dir: dir, name: file.Name.Name, files: make(map[string]*ast.File)}
		}
		byDir[dir].files[rel] = file
	})
	var all []goPackage
	for _, p := range byDir {
		all = append(all, *p)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].dir < all[j].dir })
	return all
}

// walkSources calls visit with every file of the tree that is not built, downloaded or
// hidden.
func walkSources(t *testing.T, visit func(rel string)) {
	top := root(t)
	err := filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(top, name)
		if !d.IsDir() {
			visit(rel)
			return nil
		}
		base := filepath.Base(rel)
		hidden := strings.HasPrefix(base, ".") && rel != "." && rel != ".ci"
		if hidden || rel == "build" || rel == "bin" || base == "_bin" || base == "__pycache__" || base == "dist" {
			return filepath.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func root(t *testing.T) string {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(filepath.Dir(dir))
}
