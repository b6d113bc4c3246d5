package lint

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A module is all packages of the tree with their types, in one build: that of this
// machine.
type module struct {
	fset    *token.FileSet
	index   map[string]*checkedPackage // by import path
	checked []*checkedPackage          // by folder
	outside types.Importer             // what is not in the tree
}

// A checkedPackage is the files of one folder that are built here, tests left out.
type checkedPackage struct {
	dir     string
	imports []string
	files   map[string]*ast.File       // by their paths from the root
	size    map[string]int             // their lines
	uses    map[string]map[string]bool // which file refers to which other
	types   *types.Package
}

// loadModule type-checks the tree once for all tests.
func loadModule(t *testing.T) *module {
	t.Helper()
	loaded.once.Do(func() {
		folders := make(map[string]bool)
		walkSources(t, func(rel string) {
			if strings.HasSuffix(rel, ".go") {
				folders[filepath.ToSlash(filepath.Dir(rel))] = true
			}
		})
		loaded.module, loaded.err = checkModule(root(t), slices.Sorted(maps.Keys(folders)))
	})
	if loaded.err != nil {
		t.Fatal(loaded.err)
	}
	return loaded.module
}

var loaded struct {
	once   sync.Once
	module *module
	err    error
}

func checkModule(top string, folders []string) (*module, error) {
	m := &module{fset: token.NewFileSet(), index: make(map[string]*checkedPackage)}
	if err := m.parse(top, folders); err != nil {
		return nil, err
	}

	// What others have compiled already is not checked again.
	var err error
	if m.outside, err = m.compiled(top); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(m.index)) {
		p := m.index[name]
		if _, err := m.Import(name); err != nil {
			return nil, err
		}
		m.checked = append(m.checked, p)
	}
	return m, nil
}

const moduleName = "github.com/headrace/headrace"

// parse reads the files of each folder that this machine's build takes.
func (m *module) parse(top string, folders []string) error {
	for _, dir := range folders {
		if err := m.parseFolder(top, dir); err != nil {
			return err
		}
	}
	return nil
}

func (m *module) parseFolder(top, dir string) error {
	found, err := build.ImportDir(filepath.Join(top, dir), 0)
	if _, empty := err.(*build.NoGoError); empty {
		return nil // none for this machine
	}
	if err != nil {
		return err
	}
	if len(found.GoFiles)+len(found.CgoFiles) == 0 {
		return nil
	}

	p := &checkedPackage{dir: dir, imports: found.Imports, files: make(map[string]*ast.File), size: make(map[string]int)}
	for _, name := range append(found.GoFiles, found.CgoFiles...) {
		text, err := os.ReadFile(filepath.Join(top, dir, name))
		if err != nil {
			return err
		}
		rel := path.Join(dir, name)
		if p.files[rel], err = parser.ParseFile(m.fset, rel, text, parser.SkipObjectResolution); err != nil {
			return err
		}
		p.size[rel] = bytes.Count(text, []byte("\n"))
	}
	m.index[path.Join(moduleName, dir)] = p
	return nil
}

// compiled imports packages from elsewhere as the compiler has left them in its cache.
func (m *module) compiled(top string) (types.Importer, error) {
	wanted := make(map[string]bool)
	for _, p := range m.index {
		for _, name := range p.imports {
			if m.index[name] == nil && name != "C" && name != "unsafe" {
				wanted[name] = true
			}
		}
	}

	args := append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}, slices.Sorted(maps.Keys(wanted))...)
	cmd := exec.Command("go", args...)
	cmd.Dir = top
	var wrong bytes.Buffer
	cmd.Stderr = &wrong
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, wrong.Bytes())
	}

	exports := make(map[string]string)
	for line := range strings.Lines(string(out)) {
		name, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[name] = file
	}
	return importer.ForCompiler(m.fset, "gc", func(name string) (io.ReadCloser, error) { return os.Open(exports[name]) }), nil
}

// Import implements [types.Importer]: what is in the tree is checked when somebody first
// asks.
func (m *module) Import(name string) (*types.Package, error) {
	p := m.index[name]
	if p == nil {
		return m.outside.Import(name)
	}
	if p.types != nil {
		return p.types, nil
	}
	info := &types.Info{Uses: make(map[*ast.Ident]types.Object)}
	conf := types.Config{
		Importer:    m,
		FakeImportC: true,
		Error:       func(error) {}, // the compiler's business; and what C has is not known here
	}
	var files []*ast.File
	for _, name := range p.names() {
		files = append(files, p.files[name])
	}
	p.types, _ = conf.Check(name, m.fset, files, info)
	p.refer(m.fset, info)
	return p.types, nil
}

// refer finds out which file refers to which: by a name of the package, a method or a
// field.
func (p *checkedPackage) refer(fset *token.FileSet, info *types.Info) {
	p.uses = make(map[string]map[string]bool)
	for name := range p.files {
		p.uses[name] = make(map[string]bool)
	}
	for id, what := range info.Uses {
		if what.Pkg() != p.types {
			continue
		}
		from, to := fset.Position(id.Pos()).Filename, fset.Position(what.Pos()).Filename
		if _, here := p.files[to]; here && from != to {
			p.uses[from][to] = true
		}
	}
}

func (p *checkedPackage) names() []string { return slices.Sorted(maps.Keys(p.files)) }

func (p *checkedPackage) lines(names []string) (sum int) {
	for _, name := range names {
		sum += p.size[name]
	}
	return sum
}

// exported counts the names that other packages can use.
func (p *checkedPackage) exported() (n int) {
	if p.types.Name() == "main" {
		return 0
	}
	for _, name := range p.types.Scope().Names() {
		if token.IsExported(name) {
			n++
		}
	}
	return n
}

// worstTangle returns the files of the largest tangle, by lines; nil where no two files
// refer to each other.
func (p *checkedPackage) worstTangle() (worst []string) {
	reach := make(map[string]map[string]bool)
	for _, name := range p.names() {
		reach[name] = p.reachable(name)
	}
	for _, name := range p.names() {
		var circle []string
		for _, other := range p.names() {
			if reach[name][other] && reach[other][name] {
				circle = append(circle, other)
			}
		}
		if len(circle) > 1 && p.lines(circle) > p.lines(worst) {
			worst = circle
		}
	}
	return worst
}

// reachable returns the files that one refers to, over any number of others.
func (p *checkedPackage) reachable(from string) map[string]bool {
	seen := make(map[string]bool)
	todo := []string{from}
	for len(todo) > 0 {
		next := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for to := range p.uses[next] {
			if !seen[to] {
				seen[to] = true
				todo = append(todo, to)
			}
		}
	}
	return seen
}
