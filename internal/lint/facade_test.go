package lint

import (
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// hidden are the public names that are still other names of internal types: go doc shows
// neither their fields nor their methods. There are only fewer.
var hidden = strings.Fields(`
extern.Call extern.CallError extern.Column extern.Heap extern.Interpreter extern.Kind extern.LimitError extern.Line extern.Link
extern.LinkStats extern.Program extern.Set extern.Value
pipe.BusyError pipe.BusyStage pipe.Composition pipe.Gate pipe.HookError pipe.ItemRange pipe.LimitError pipe.LossError
pipe.Memory pipe.PanicError pipe.PartState pipe.Policy pipe.Progress pipe.SourceState pipe.StageError pipe.State`)

// TestPublicTypesAreDocumented holds that a user can read what a public type has.
func TestPublicTypesAreDocumented(t *testing.T) {
	found := make(map[string]bool)
	for _, p := range goPackages(t) {
		if strings.Contains("/"+p.dir+"/", "/internal/") || p.name == "main" {
			continue
		}
		for _, file := range p.files {
			for _, name := range hiddenIn(file) {
				found[p.dir+"."+name] = true
			}
		}
	}
	all := slices.Sorted(maps.Keys(found))
	for i, name := range all {
		all[i] = strings.Replace(name, "..", ".", 1)
	}
	if !slices.Equal(all, hidden) {
		t.Errorf("%v are aliases of internal types, and %v may be: move a new one into a public package; "+
			"of those that are gone, take the name out of the list", all, hidden)
	}
}

// hiddenIn returns the exported aliases of a file to types of internal packages.
func hiddenIn(file *ast.File) (names []string) {
	inside := make(map[string]bool) // by the names that the file gives them
	for _, i := range file.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		name := path[strings.LastIndex(path, "/")+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		inside[name] = strings.Contains(path+"/", "/internal/")
	}
	for _, d := range file.Decls {
		decl, ok := d.(*ast.GenDecl)
		if !ok || decl.Tok != token.TYPE {
			continue
		}
		for _, spec := range decl.Specs {
			s := spec.(*ast.TypeSpec)
			if s.Assign.IsValid() && s.Name.IsExported() && inside[packageOf(s.Type)] {
				names = append(names, s.Name.Name)
			}
		}
	}
	return names
}

// packageOf returns the package that a type is named in, of one with type arguments too.
func packageOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.IndexExpr:
		return packageOf(e.X)
	case *ast.IndexListExpr:
		return packageOf(e.X)
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			return x.Name
		}
	}
	return ""
}
