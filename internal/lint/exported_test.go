package lint

import (
	"go/ast"
	"strings"
	"testing"
)

// Every exported name that a reader of `go doc` sees says what it is for.
func TestExportedNamesAreDocumented(t *testing.T) {
	for _, p := range goPackages(t) {
		if p.name == "main" {
			continue
		}
		for name, file := range p.files {
			for _, decl := range file.Decls {
				for _, missing := range undocumented(decl) {
					t.Errorf("%s: %s is exported and has no doc comment", name, missing)
				}
			}
		}
	}
}

func undocumented(decl ast.Decl) []string {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && d.Name.IsExported() && exportedReceiver(d) && !obvious(d) {
			return []string{d.Name.Name}
		}
	case *ast.GenDecl:
		return undocumentedSpecs(d)
	}
	return nil
}

func undocumentedSpecs(d *ast.GenDecl) []string {
	var names []string
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
				names = append(names, s.Name.Name)
			}
		case *ast.ValueSpec:
			// One comment above a group speaks for all of it.
			if s.Names[0].IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
				names = append(names, s.Names[0].Name)
			}
		}
	}
	return names
}

// obvious names methods whose contract is that of a well-known interface.
func obvious(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return false
	}
	return strings.Contains(" Error Unwrap String Is As MarshalText UnmarshalText MarshalJSON "+
		"UnmarshalJSON Len Less Swap ", " "+d.Name.Name+" ")
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	at := d.Recv.List[0].Type
	for {
		switch t := at.(type) {
		case *ast.StarExpr:
			at = t.X
		case *ast.IndexExpr:
			at = t.X
		case *ast.IndexListExpr:
			at = t.X
		case *ast.Ident:
			return t.IsExported()
		default:
			return false
		}
	}
}
