package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

const manyTerms = 5 // from which a condition is hard to read

// A condition of many terms has one to a line, each with its reason, as a switch has
// them, or names for its parts.
func TestConditionsHaveFewTerms(t *testing.T) {
	eachGoFile(t, func(rel string, _ []byte, file *ast.File, set *token.FileSet) {
		if strings.HasSuffix(rel, "_test.go") {
			return
		}
		for _, at := range longConditions(file) {
			t.Errorf("%s: a condition of %d terms or more: make it a switch with a case for each, or name its parts",
				set.Position(at), manyTerms)
		}
	})
}

func TestTermsOfConditions(t *testing.T) {
	for condition, want := range map[string]int{
		"a && b && c && d": 0, "a && b && c && d && e": 1, "a || b && !(c || d && (e)) || f": 1,
		"f(a && b, c && d, e && f)": 0, "a && f(a || b || c || d || e) && b": 1, "a + b + c + d + e > f": 0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p; var _ = "+condition, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(longConditions(file)); got != want {
			t.Errorf("%s: %d conditions are long, want %d", condition, got, want)
		}
	}
}

// longConditions returns the places of those in a part of a program.
func longConditions(part ast.Node) (places []token.Pos) {
	ast.Inspect(part, func(node ast.Node) bool {
		e, ok := node.(*ast.BinaryExpr)
		if !ok || !joins(e.Op) {
			return true
		}
		terms := termsOf(e)
		if len(terms) >= manyTerms {
			places = append(places, e.Pos())
		}
		for _, term := range terms { // a call has arguments of its own
			places = append(places, longConditions(term)...)
		}
		return false
	})
	return places
}

// termsOf returns the operands of a condition, through brackets and negations.
func termsOf(e ast.Expr) []ast.Expr {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return termsOf(e.X)
	case *ast.UnaryExpr:
		if e.Op == token.NOT {
			return termsOf(e.X)
		}
	case *ast.BinaryExpr:
		if joins(e.Op) {
			return append(termsOf(e.X), termsOf(e.Y)...)
		}
	}
	return []ast.Expr{e}
}

func joins(op token.Token) bool { return op == token.LAND || op == token.LOR }
