package lint

import (
	"go/ast"
	"go/token"
	"reflect"
	"regexp"
	"strings"
	"testing"

	_ "github.com/headrace/headrace/op"
	"github.com/headrace/headrace/recipe"
)

// TestOperationsAreNamedInTheirRooms holds that a new operation is no matter of those who
// plan, compile, try, draw or serve recipes: its arguments are named only in its room,
// where it says what it is and is carried out. Everybody else asks recipe.TraitsOf.
func TestOperationsAreNamedInTheirRooms(t *testing.T) {
	var names []string
	for _, op := range recipe.Ops() {
		names = append(names, reflect.TypeOf(op.New()).Elem().String()) // with the package
	}
	named := regexp.MustCompile(`(^|[^.\w])(op)?(` + strings.ReplaceAll(strings.Join(names, "|"), ".", `\.`) + `)\b`)
	eachGoFile(t, func(path string, text []byte, _ *ast.File, _ *token.FileSet) {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "examples/") || strings.HasPrefix(path, "bench/") || strings.HasPrefix(path, "op/") {
			return
		}
		if all := named.FindAllString(string(text), -1); len(all) > 0 {
			t.Errorf("%s names %v: ask recipe.TraitsOf, or move what is about one operation into its room", path, all)
		}
	})
}
