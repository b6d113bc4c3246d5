package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A turn is a construction that native engineers hardly use in doc comments.
type turn struct {
	name    string
	pattern *regexp.Regexp
	instead string
}

var turns = [...]turn{
	{"X is how", regexp.MustCompile(`^\w+ (is|are) (how|what|which|where|whether|why|who|those|that)\b`),
		"begin with a verb or a noun: x returns, x reports whether, x is the number of"},
	{"what is", regexp.MustCompile(`\b[Ww]hat (is|was|it|they|comes|has|a|the|there) `),
		"name the thing: the input, the error, its fields"},
	{"where", regexp.MustCompile(`\b[Ww]here (there|it|that|they|nobody|one|a|an|the|its|no|this|some|all) `),
		"if or when; where is for places"},
	{"who", regexp.MustCompile(`\b(nobody|somebody|who)\b`),
		"name the caller, the client, the user"},
}

// mostTurns are the doc comments of functions and types of each top folder that have such
// a turn. The numbers only fall: they count what was there when the rule came.
var mostTurns = map[string][len(turns)]int{
	".":        {16, 30, 9, 6},
	"arena":    {2, 6, 6, 6},
	"bench":    {5, 9, 0, 0},
	"budget":   {3, 4, 3, 1},
	"cmd":      {42, 58, 17, 14},
	"examples": {0, 0, 1, 0},
	"extern":   {0, 2, 0, 0},
	"group":    {0, 6, 1, 0},
	"internal": {71, 132, 66, 17},
	"media":    {190, 238, 112, 17},
	"op":       {22, 52, 25, 10},
	"order":    {3, 9, 2, 3},
	"pipe":     {54, 149, 67, 51},
	"recipe":   {19, 57, 23, 6},
	"sample":   {3, 3, 3, 0},
	"serve":    {0, 1, 0, 0},
	"shard":    {107, 102, 65, 11},
	"state":    {2, 1, 0, 0},
	"stats":    {0, 1, 0, 0},
	"store":    {4, 15, 6, 2},
	"tensor":   {0, 0, 1, 0},
	"wire":     {7, 11, 5, 3},
}

// spareTurns is how far a folder may be below its limits before they are to be lowered.
const spareTurns = 12

func TestDocCommentsSpeakPlainly(t *testing.T) {
	counts := map[string][len(turns)]int{}
	where := map[string][]string{}
	eachGoFile(t, func(rel string, _ []byte, file *ast.File, set *token.FileSet) {
		if strings.HasSuffix(rel, "_test.go") || strings.Contains(rel, "testdata") {
			return
		}
		top, _, _ := strings.Cut(path.Dir(rel), "/")
		for _, doc := range docComments(file) {
			of := counts[top]
			for i, found := range turnsIn(doc.Text()) {
				if found {
					of[i]++
					key := top + turns[i].name
					where[key] = append(where[key], fmt.Sprintf("%s:%d", rel, set.Position(doc.Pos()).Line))
				}
			}
			counts[top] = of
		}
	})

	var table strings.Builder
	tops := make([]string, 0, len(counts))
	for top := range counts {
		tops = append(tops, top)
	}
	slices.Sort(tops)
	for _, top := range tops {
		fmt.Fprintf(&table, "\t%q: {%s},\n", top, strings.ReplaceAll(strings.Trim(fmt.Sprint(counts[top]), "[]"), " ", ", "))
		limits := mostTurns[top]
		for i, n := range counts[top] {
			turn := turns[i]
			switch limit := limits[i]; {
			case n > limit:
				t.Errorf("%s: %d doc comments say %q, at most %d may; %s (-v lists them)", top, n, turn.name, limit, turn.instead)
				if testing.Verbose() {
					t.Log(strings.Join(where[top+turn.name], "\n"))
				}
			case n < limit-spareTurns:
				t.Errorf("%s: %d doc comments say %q, and %d may: lower the limit in mostTurns", top, n, turn.name, limit)
			}
		}
	}
	for top := range mostTurns {
		if _, there := counts[top]; !there {
			t.Errorf("%s: there is no such folder: remove it from mostTurns", top)
		}
	}
	t.Log("\n" + table.String())
}

// docComments returns the doc comments of a file's functions and types.
func docComments(file *ast.File) (all []*ast.CommentGroup) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			all = append(all, d.Doc)
		case *ast.GenDecl:
			if d.Tok == token.TYPE {
				all = append(all, d.Doc)
			}
		}
	}
	return slices.DeleteFunc(all, func(g *ast.CommentGroup) bool { return g == nil })
}

// turnsIn reports the turns that a comment has.
func turnsIn(comment string) (found [len(turns)]bool) {
	line := strings.Join(strings.Fields(comment), " ")
	for i, t := range turns {
		found[i] = t.pattern.MatchString(line)
	}
	return found
}

func TestTurnsAreFound(t *testing.T) {
	for comment, want := range map[string]string{
		"share is how much\nof it is left.":                "X is how",
		"share returns the part that is left.":             "",
		"cut removes what\nis after the end.":              "what is",
		"cut waits where there is no room.":                "where",
		"cut returns the offset where data begins.":        "",
		"done is what is left for those who wait, if any.": "X is how, what is, who",
		"whoever": "",
	} {
		var got []string
		for i, found := range turnsIn(comment) {
			if found {
				got = append(got, turns[i].name)
			}
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%q has %q, want %q", comment, got, want)
		}
	}
}
