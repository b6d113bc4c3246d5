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

// rooms are where an operation's arguments may be named: what it says of itself, and what
// carries it out. Everybody else asks recipe.TraitsOf.
var rooms = []string{"op/"}

// namedIn is how often files outside of them may still name one. It only falls.
var namedIn = map[string]int{
	"serve/task.go": 2, "serve/io_audio.go": 2, "serve/io_clip.go": 1, "serve/io_stream.go": 2, "serve/io_video.go": 1,
}

// TestOperationsAreNamedInTheirRooms holds that a new operation is no matter of those who
// plan, compile, try or draw recipes.
func TestOperationsAreNamedInTheirRooms(t *testing.T) {
	var names []string
	for _, op := range recipe.Ops() {
		names = append(names, reflect.TypeOf(op.New()).Elem().String()) // with the package
	}
	named := regexp.MustCompile(`(^|[^.\w])(op)?(` + strings.ReplaceAll(strings.Join(names, "|"), ".", `\.`) + `)\b`)
	eachGoFile(t, func(path string, text []byte, _ *ast.File, _ *token.FileSet) {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "examples/") || strings.HasPrefix(path, "bench/") || inRoom(path) {
			return
		}
		switch all := named.FindAllString(string(text), -1); {
		case len(all) > namedIn[path]:
			t.Errorf("%s names %v: ask recipe.TraitsOf, or move what is about one operation into its room", path, all)
		case len(all) < namedIn[path]:
			t.Errorf("%s names %d operations only: lower its number", path, len(all))
		}
	})
}

func inRoom(path string) bool {
	for _, room := range rooms {
		if strings.HasPrefix(path, room) {
			return true
		}
	}
	return false
}
