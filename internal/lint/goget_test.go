package lint

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/tier"
)

// TestAModuleOfOnesOwn has a fresh module get Headrace from a proxy, as `go get` does
// from the public one, and build against it: a package that needs nothing else, and in
// `make test-all` a program that imports every public one.
func TestAModuleOfOnesOwn(t *testing.T) {
	tier.StartsProcesses(t)
	served, program := serve(t), t.TempDir()
	wanted := []string{served.path + "/order"}
	if tier.Whole() {
		wanted = served.public(t)
	}
	var imports strings.Builder
	for _, name := range wanted {
		fmt.Fprintf(&imports, "\t_ %q\n", name)
	}
	writeFile(t, program, "go.mod", "module example.org/user\n\ngo 1.26.0\n")
	writeFile(t, program, "main.go", "package main\n\nimport (\n"+imports.String()+
		fmt.Sprintf("\t%q\n)\n\nfunc main() { println(order.Version) }\n", served.path+"/order"))

	served.goCommand(t, program, "get", served.path+"@v0.1.0")
	if mod := readFile(t, program, "go.mod"); !strings.Contains(mod, served.path+" v0.1.0") || strings.Contains(mod, "replace") {
		t.Errorf("go get has written\n%s", mod)
	}
	if !tier.Whole() {
		served.goCommand(t, program, "build", served.path+"/order")
		return
	}
	served.goCommand(t, program, "mod", "tidy")
	if got := served.goCommand(t, program, "run", "."); strings.TrimSpace(got) == "" {
		t.Error("the program prints nothing")
	}
}

// A servedModule is this tree on a proxy of files.
type servedModule struct {
	path string
	env  []string
}

// serve packs the sources as version 0.1.0 of the module. What it requires comes out of
// the go command's own downloads, so that nothing is asked of the network.
func serve(t *testing.T) servedModule {
	mod := readFile(t, root(t), "go.mod")
	path := regexp.MustCompile(`(?m)^module (\S+)$`).FindStringSubmatch(mod)[1]
	proxy := t.TempDir()
	versions := filepath.Join(path, "@v")
	writeFile(t, proxy, filepath.Join(versions, "list"), "v0.1.0\n")
	writeFile(t, proxy, filepath.Join(versions, "v0.1.0.info"), `{"Version":"v0.1.0","Time":"2026-01-01T00:00:00Z"}`)
	writeFile(t, proxy, filepath.Join(versions, "v0.1.0.mod"), mod)

	var packed bytes.Buffer
	archive := zip.NewWriter(&packed)
	add := func(name string, text []byte) {
		w, err := archive.Create(path + "@v0.1.0/" + name)
		if err == nil {
			_, err = w.Write(text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	add("go.mod", []byte(mod))
	walkSources(t, func(rel string) {
		rel = filepath.ToSlash(rel)
		if rel == "go.mod" || strings.HasPrefix(rel, ".") || strings.Contains(rel, "testdata/") || strings.HasSuffix(rel, "_test.go") {
			return
		}
		add(rel, []byte(readFile(t, root(t), rel)))
	})
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	writeFile(t, proxy, filepath.Join(versions, "v0.1.0.zip"), packed.String())

	downloads := filepath.Join(strings.TrimSpace(output(t, exec.Command("go", "env", "GOMODCACHE"))), "cache/download")
	return servedModule{path, append(os.Environ(),
		"GOPROXY=file://"+proxy+",file://"+downloads, "GOSUMDB=off", "GONOSUMDB=*", "GOTOOLCHAIN=local", "GOWORK=off",
		"GOFLAGS=-mod=mod -modcacherw -trimpath", "GOMODCACHE="+filepath.Join(t.TempDir(), "modules"), "CGO_ENABLED=0")}
}

// public are the packages that other modules can import, of those that need no C.
func (s servedModule) public(t *testing.T) (names []string) {
	for _, p := range goPackages(t) {
		dir := filepath.ToSlash(p.dir)
		inside := dir == "internal" || strings.HasPrefix(dir, "internal/") || strings.Contains(dir, "/internal")
		if p.name == "main" || inside || strings.HasPrefix(dir, "examples") || strings.HasPrefix(dir, "bench") || !s.builds(t, dir) {
			continue
		}
		names = append(names, filepath.ToSlash(filepath.Join(s.path, dir)))
	}
	return names
}

// builds reports whether a package has files without C.
func (s servedModule) builds(t *testing.T, dir string) bool {
	cmd := exec.Command("go", "list", "-f", "{{len .GoFiles}}", "./"+dir)
	cmd.Dir, cmd.Env = root(t), append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.Output()
	return err == nil && strings.TrimSpace(string(out)) != "0"
}

func (s servedModule) goCommand(t *testing.T, dir string, args ...string) string {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = dir, s.env
	return output(t, cmd)
}

// output returns what a command prints on both of its streams, and fails with it.
func output(t *testing.T, cmd *exec.Cmd) string {
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return string(out)
}

func readFile(t *testing.T, folder, name string) string {
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func writeFile(t *testing.T, folder, name, text string) {
	path := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
