package arrows

import (
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/tier"
)

// Who takes the engine alone takes nothing else along.
func TestPipeNeedsTheStandardLibraryAlone(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "github.com/headrace/headrace/pipe")
	cmd.Dir = moduleRoot(t)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s, %v", out, err)
	}
	for _, needed := range strings.Fields(string(out)) {
		if needed != "github.com/headrace/headrace/pipe" && !strings.HasPrefix(needed, "github.com/headrace/headrace/pipe/") {
			t.Errorf("pipe needs %s", needed)
		}
	}
}

// A program in a module of its own builds and runs without a C compiler: where cgo is
// off, and where it is on and the compiler is broken.
func TestUsersNeedNoC(t *testing.T) {
	tier.StartsProcesses(t)
	root := moduleRoot(t)
	// The last one imports the others.
	for _, program := range []string{"headrace", "pipe", "media"}[:tier.Cases(1, 3)] {
		folder := t.TempDir()
		for name, from := range map[string]string{"main.go": filepath.Join("testdata", program+".go.txt"), "go.sum": filepath.Join(root, "go.sum")} {
			copyFile(t, filepath.Join(folder, name), from)
		}
		// The lines that docs/guide/go.md tells people to write.
		module := "module example.org/user\n\ngo 1.26\n\nrequire github.com/headrace/headrace " +
			"v0.0.0\n\nreplace github.com/headrace/headrace => " + root + "\n"
		if err := os.WriteFile(filepath.Join(folder, "go.mod"), []byte(module), 0o644); err != nil {
			t.Fatal(err)
		}
		// Each of the two compiles everything; what asks for C fails in the second.
		for _, env := range [][]string{{"CGO_ENABLED=1", "CC=false"}, {"CGO_ENABLED=0"}}[:tier.Cases(1, 2)] {
			cmd := exec.Command("go", "run", "-mod=mod", ".")
			cmd.Dir = folder
			cmd.Env = append(os.Environ(), append(env, "GOFLAGS=-trimpath", "GOWORK=off", "GOPROXY=off")...)
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.HasSuffix(string(out), "works\n") {
				t.Errorf("a program with %s, %v: %v\n%s", program, env, err, out)
			}
		}
	}
}

func copyFile(t *testing.T, to, from string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// Every package that people import shows how, in an example that runs.
func TestPackagesForUsersHaveExamples(t *testing.T) {
	root := moduleRoot(t)
	for _, folder := range []string{".", "arena", "budget", "media", "order", "pipe", "recipe", "recipe/fuse", "sample", "stats", "store", "tensor"} {
		has := false
		files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			outside := strings.HasSuffix(f.Name.Name, "_test") // as users write it
			has = has || outside && slices.ContainsFunc(doc.Examples(f), func(e *doc.Example) bool { return e.Output != "" })
		}
		if !has {
			t.Errorf("%s has no example with output", folder)
		}
	}
}
