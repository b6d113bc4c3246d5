package lint

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A kind is what CONTRIBUTING.md says how to add, after the example of one that is there.
type kind struct {
	named *regexp.Regexp // how files name the example
	among func(path string) bool
}

// kinds are those of the table, by their examples.
var kinds = map[string]kind{
	"arrayrecord":     {regexp.MustCompile(`\barrayrecord\b`), isProduct},
	"spng":            {regexp.MustCompile(`media/spng|libspng|spng\.h|\bspng webp\b`), isProduct},
	"random_solarize": {regexp.MustCompile(`\brandom_solarize\b|RandomSolarize\b`), isProduct},
	"gaussian_blur":   {regexp.MustCompile(`\bgaussian_blur\b|(^|[^.\w])GaussianBlur\b|media\.GaussianBlur\b|hr_blur`), isProduct},
	"log_mel":         {regexp.MustCompile(`\blog_mel\b|\bLogMel\b|linkLogMel|logMelOp`), isProduct},
	"damaged_audio":   {regexp.MustCompile(`\bdamaged_audio\b|\bDamagedAudio\b`), isProduct},
	"store.Local":     {regexp.MustCompile(`\bstore\.Local\b`), isProduct},
	"headspace":       {regexp.MustCompile(`\bheadspace\b`), below("python/src/")},
	"masks.md":        {regexp.MustCompile(`\bmasks\.md\b`), below("mkdocs.yml", "examples/")},
}

// TestContributingNamesTheFiles holds the tables of CONTRIBUTING.md against the tree: a
// file that names an example is in its row, and a row has no others.
func TestContributingNamesTheFiles(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root(t), "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	tree := treeTexts(t)
	rows, proofs := contributingRows(string(text))
	for example := range kinds {
		if _, found := rows[example]; !found {
			t.Errorf("CONTRIBUTING.md has no row for a thing like %s", example)
		}
	}
	for _, complaint := range slices.Concat(checkRows(rows, tree), checkProofs(proofs, tree), checkWhole(rows, proofs, tree)) {
		t.Error("CONTRIBUTING.md: " + complaint)
	}
	for _, path := range pathsIn(string(text)) {
		if _, err := os.Stat(filepath.Join(root(t), path)); err != nil && strings.Contains(path, "/") {
			t.Errorf("CONTRIBUTING.md: there is no %s", path)
		}
	}
}

// The test of the test: rows that are untrue are told.
func TestContributingTablesCanBeWrong(t *testing.T) {
	tree := map[string]string{"shard/arrayrecord/a.go": "package arrayrecord", "shard/f.go": "arrayrecord",
		"g.go": "arrayrecord", "h.go": "", "h_test.go": ""}
	for row, want := range map[string]string{
		"| a | `arrayrecord` | `shard/arrayrecord/`, `shard/f.go`, `g.go` | 2 |":         "",
		"| a | `arrayrecord` | `shard/arrayrecord/`, `shard/f.go`, `g.go` | 1 |":         "says 1 files",
		"| a | `arrayrecord` | `shard/arrayrecord/`, `shard/f.go` | 1 |":                 "lacks g.go",
		"| a | `arrayrecord` | `shard/arrayrecord/`, `shard/f.go`, `g.go`, `h.go` | 3 |": "h.go does not name",
		"| a | `unheard_of` | `g.go` | 1 |":                                              "is not known",
	} {
		rows, _ := contributingRows(row)
		got := strings.Join(checkRows(rows, tree), "; ")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s\ngives %q, want %q", row, got, want)
		}
	}
	tree["op/image/solarize.go"], tree["media/chains_test.go"] = "random_solarize", "random_solarize"
	rows, proofs := contributingRows("| a | `random_solarize` | `op/image/solarize.go` | 1 |")
	if got := strings.Join(checkWhole(rows, proofs, tree), "; "); !strings.Contains(got, "lack media/chains_test.go") {
		t.Errorf("a list in a test that names an example is told as %q", got)
	}
	_, proofs = contributingRows("| a | `arrayrecord` | `g.go`, `h_test.go` |")
	if got := checkProofs(proofs, tree); len(got) != 1 || !strings.Contains(got[0], "h_test.go") {
		t.Errorf("tests that do not name an example are told as %q", got)
	}
}

// A row is one of the first table: the files that change, own folders with a slash at the
// end, and how many files there are besides.
type row struct {
	paths []string
	files int
}

var quoted = regexp.MustCompile("`([^`]+)`")

// contributingRows returns the rows of both tables by their examples.
func contributingRows(text string) (rows map[string]row, proofs map[string][]string) {
	rows, proofs = make(map[string]row), make(map[string][]string)
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.HasPrefix(line, "|") || len(cells) < 3 {
			continue
		}
		example := quoted.FindStringSubmatch(cells[1])
		if example == nil {
			continue
		}
		var paths []string
		for _, m := range quoted.FindAllStringSubmatch(cells[2], -1) {
			paths = append(paths, m[1])
		}
		if len(cells) == 3 {
			proofs[example[1]] = paths
		} else if files, err := strconv.Atoi(strings.TrimSpace(cells[3])); err == nil {
			rows[example[1]] = row{paths, files}
		}
	}
	return rows, proofs
}

// checkRows says what is wrong with the first table.
func checkRows(rows map[string]row, tree map[string]string) (wrong []string) {
	for _, example := range slices.Sorted(maps.Keys(rows)) {
		is, known := kinds[example]
		if !known {
			wrong = append(wrong, example+" is not known to internal/lint/contributing_test.go: say there how files name it")
			continue
		}
		told := rows[example]
		own := func(path string) bool {
			return slices.ContainsFunc(told.paths, func(p string) bool { return strings.HasSuffix(p, "/") && strings.HasPrefix(path, p) })
		}
		for _, path := range slices.Sorted(maps.Keys(tree)) {
			if is.among(path) && !own(path) && is.named.MatchString(tree[path]) && !slices.Contains(told.paths, path) {
				wrong = append(wrong, "the row of "+example+" lacks "+path+", which names it")
			}
		}
		files := 0
		for _, path := range told.paths {
			if strings.HasSuffix(path, "/") {
				continue
			}
			files++
			if is.among(path) && !is.named.MatchString(tree[path]) {
				wrong = append(wrong, "in the row of "+example+", "+path+" does not name it")
			}
		}
		if files != told.files {
			wrong = append(wrong, "the row of "+example+" says "+strconv.Itoa(told.files)+" files, and has "+strconv.Itoa(files))
		}
	}
	return wrong
}

// checkProofs says what is wrong with the second table: tests and pages that do not name
// the example.
func checkProofs(proofs map[string][]string, tree map[string]string) (wrong []string) {
	for _, example := range slices.Sorted(maps.Keys(proofs)) {
		for _, path := range proofs[example] {
			if is, known := kinds[example]; !known || !is.named.MatchString(tree[path]) {
				wrong = append(wrong, "in the row of "+example+", "+path+" does not name it")
			}
		}
	}
	return wrong
}

// whole limits the number of files of an example, tests and pages included.
var whole = map[string]int{"random_solarize": 5, "gaussian_blur": 8}

// isMade tells of pages and code that are made of descriptions, and of what measures or
// shows steps; this page and this test name examples, too.
var isMade = below("python/src/headrace/_operations.py", "python/src/headrace/_steps.py", "docs/guide/", "CONTRIBUTING.md",
	"internal/lint/contributing_test.go", "examples/", "bench/", "scripts/docs/")

// checkWhole returns the files of an example that no row has, and complains if there are
// too many.
func checkWhole(rows map[string]row, proofs map[string][]string, tree map[string]string) (wrong []string) {
	for _, example := range slices.Sorted(maps.Keys(whole)) {
		files := 0
		for _, path := range slices.Sorted(maps.Keys(tree)) {
			if isMade(path) || !kinds[example].named.MatchString(tree[path]) {
				continue
			}
			files++
			if !slices.Contains(slices.Concat(rows[example].paths, proofs[example]), path) {
				wrong = append(wrong, "the rows of "+example+" lack "+path+", which names it")
			}
		}
		if files == 0 || files > whole[example] {
			wrong = append(wrong, example+" is in "+strconv.Itoa(files)+" files, at most "+strconv.Itoa(whole[example])+" may be")
		}
	}
	return wrong
}

// pathsIn returns what a page names as a path of the tree; only words with a slash are
// looked for.
func pathsIn(text string) (paths []string) {
	for _, m := range quoted.FindAllStringSubmatch(text, -1) {
		if isPath.MatchString(m[1]) {
			paths = append(paths, m[1])
		}
	}
	return paths
}

var isPath = regexp.MustCompile(`^[a-z_][\w.-]*(/[\w.-]+)*/?$`)

// isProduct leaves out what tests, documents or measures, and what is made of the rest.
func isProduct(path string) bool {
	return !strings.HasSuffix(path, "_test.go") && !strings.HasSuffix(path, ".md") &&
		!strings.Contains(path, "testdata/") && !strings.Contains(path, "test/") &&
		path != "python/src/headrace/_operations.py" && path != "python/src/headrace/_steps.py" &&
		!strings.HasPrefix(path, "python/tests") && !below("docs/", "examples/", "bench/",
		"findings/", "scripts/tests/", "scripts/docs/", "scripts/shard_goldens.py")(path)
}

func below(folders ...string) func(string) bool {
	return func(path string) bool {
		return slices.ContainsFunc(folders, func(f string) bool { return strings.HasPrefix(path, f) })
	}
}

// treeTexts returns the text files of the tree but those that tests read.
func treeTexts(t *testing.T) map[string]string {
	tree := make(map[string]string)
	walkSources(t, func(rel string) {
		if strings.Contains(filepath.ToSlash(rel), "testdata/") {
			return
		}
		switch filepath.Ext(rel) {
		case ".go", ".c", ".h", ".py", ".sh", ".md", ".yml", ".toml", "":
			text, err := os.ReadFile(filepath.Join(root(t), rel))
			if err != nil {
				t.Fatal(err)
			}
			tree[filepath.ToSlash(rel)] = string(text)
		}
	})
	return tree
}
