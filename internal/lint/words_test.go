package lint

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A forbidden pattern, in the files that one of the globs fits: a glob without a slash
// fits a file's name in any folder.
type forbidden struct {
	pattern *regexp.Regexp
	globs   string
	spared  func(rel string) bool // nil: nobody
	instead string
}

// code stands before a pattern that comments may contain.
const code = `(?m)^[^/\n]*`

// raised and raisedPy stand before what no message may say; not is a negated noun, which
// "there is no …" is none of.
const (
	raised   = code + `(Errorf|errors\.New|[wW]rong|refused?|BadText|Sprintf)\([^\n]*`
	raisedPy = `(?m)^[^#\n]*(raise|text =|f")[^\n]*`
	not      = `([^e]|[^r]e|[^e]re) (is|are) no ` + `[a-kn-z]`
)

// The patterns are put together from parts, so that this file does not contain them. One
// that begins with a word, and not with \b, is searched for ten times as fast.
var words = []forbidden{
	{regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X|HA` + `CK)\b`), "*.go *.py *.c *.h *.sh *.md", nil,
		"do it, or write an issue"},
	{regexp.MustCompile(code + `\bt\.Skip` + `(Now|f)?\(`), "*_test.go", nil,
		"a test that may not run hides a gap; build tags and testing.Short say openly what is left out"},
	{regexp.MustCompile(code + `\blog\.(Print|Fatal|Panic)`), "*.go", isTest,
		"return the error; the program's entry reports it once"},
	{regexp.MustCompile(code + `\bfmt\.Print(f|ln)?\(`), "*.go", talksToPeople,
		"standard output belongs to the program; write to an io.Writer that the caller gives"},
	{regexp.MustCompile(code + `time\.Sleep\(`), "pipe/*_test.go", nil,
		"testing/synctest has a clock that waits for nobody"},
	// Words that readers trip over. They are those of voice.md, and stay away.
	{regexp.MustCompile(`(takes (a number|numbers|rising numbers|seconds) ` + `from \d+ on)`), "*.go *.py *.md", nil,
		"must be at least N"},
	{regexp.MustCompile(`\b[Ww]ho ` + `wants\b|\bWhat is ` + `none\b|\bWho` + `ever\b`), "*.go *.py *.md", nil,
		"you, if, anyone who"},
	{regexp.MustCompile(`\b(is|are) ` + `told\b|\bwho` + `ever\b|\bsta` + `nds\b|\bphoto` +
		`graphs? (are|is|in|to|and)\b|\bpro` + `cessors\b`), "*.md *.py", nil,
		"gets, if, is, images, CPUs"},
	{regexp.MustCompile(`\ban` + `ew\b`), "*.go *.py *.md", nil, "again"},
	{regexp.MustCompile(`in the ` + `place of\b`), "*.go *.py *.md", nil, "instead of"},
	{regexp.MustCompile(`be` + `hind (it|them|that|a step|the step|the stage|each|batch|` + "`batch`" + `)\b`),
		"*.go *.py *.md", writtenElsewhere,
		"after"},
	{regexp.MustCompile(`\bdo(es)? not ` + `lie\b|\blies ` + `(in|between|at|within|outside)\b`), "*.go *.py *.md", nil,
		"is, are"},
	{regexp.MustCompile(`stands (be` + `hind|in the place|in quotes|where|there|beside|between)\b`), "*.go *.py *.md", nil,
		"is"},
	{regexp.MustCompile(`\bphoto` + `graphs? of\b|\bpro` + `cessors? (time|are)\b`), "*.go *.md", nil,
		"images; CPU"},
	// Errors, docstrings and pages say what must be, and what is not.
	{regexp.MustCompile(`: ta` + `kes\b`), "*.go *.py *.md", nil, "must be, needs, give, use"},
	{regexp.MustCompile(raised + not), "*.go", nil, "is not a"},
	{regexp.MustCompile(`"[^"\n]*` + not), "*.py", nil, "is not a"},
	{regexp.MustCompile(not), "*.md", nil, "is not a"},
	{regexp.MustCompile(`is none of ` + `the\b|(be|can be) ` + `had\b|(which|that) there is ` +
		`not\b|(is|are) another than ` + `(it|they)`), "*.go *.py *.md", isTest,
		"there is no X: the Xs are; cannot; has changed"},
	{regexp.MustCompile(raised + `\b(no` + `body|in who` + `se|is to ` + `(be|give|follow)|are to ` +
		`be|others than ` + `they|objects of ` + `Python|file of ` + `(NumPy|Arrow))\b`), "*.go", isTest,
		"cannot, must be, has changed, Python objects"},
	{regexp.MustCompile(raised + `[:;,] (and |or )?(sa` + `y|ta` +
		`ke) (the|a|an|fewer|[a-z_]+=|[a-z_]+_[a-z_]+|fields|frames|gives|duration|window|path|which|where|boxes)\b`), "*.go", isTest,
		"set, give, use"},
	{regexp.MustCompile(raised + `\bpic` + `tures?\b`), "*.go", isTest, "image"},
	{regexp.MustCompile(raisedPy + `\b(no` + `body|in who` + `se|is to ` + `be|are to ` + `be|sa` +
		`y (which|where|path|fields|it with)|ta` + `ke (the|a|an|threads|flat_map))\b`), "*.py", isTest,
		"cannot, must be, set, give, use"},
	{regexp.MustCompile(`[ \t]+\n`), "*.py *.sh *.md", nil,
		"no blanks at the end of a line"},
}

func TestForbiddenWords(t *testing.T) {
	walkSources(t, func(rel string) {
		var text []byte
		for _, f := range words {
			if !f.covers(rel) {
				continue
			}
			if text == nil {
				var err error
				if text, err = os.ReadFile(filepath.Join(root(t), rel)); err != nil {
					t.Fatal(err)
				}
			}
			for _, at := range f.pattern.FindAllIndex(text, -1) {
				line := 1 + bytes.Count(text[:at[0]], []byte("\n"))
				t.Errorf("%s:%d: %q: %s", rel, line, bytes.TrimSpace(text[at[0]:at[1]]), f.instead)
			}
		}
	})
}

func (f forbidden) covers(rel string) bool {
	for glob := range strings.FieldsSeq(f.globs) {
		name := rel
		if !strings.Contains(glob, "/") {
			name = filepath.Base(rel)
		}
		if match, _ := filepath.Match(glob, name); match {
			return f.spared == nil || !f.spared(rel)
		}
	}
	return false
}

// writtenElsewhere are pages of which the words are still to follow.
func writtenElsewhere(rel string) bool {
	return strings.HasPrefix(rel, "docs/guide/from-spdl")
}

func isTest(rel string) bool {
	return strings.HasSuffix(rel, "_test.go") || strings.HasPrefix(rel, "python/tests/")
}

func talksToPeople(rel string) bool {
	return isTest(rel) || strings.HasPrefix(rel, "cmd/") || strings.HasPrefix(rel, "examples/") || strings.HasPrefix(rel, "bench/")
}
