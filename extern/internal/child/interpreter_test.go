package child

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A worker's environment is the engine's, without variables that would change its imports
// or make it ask at a prompt. Math libraries get one thread, unless told otherwise.
func TestEnvironment(t *testing.T) {
	t.Setenv("HEADRACE_WORKER_OF", "")
	i := &Interpreter{Environment: []string{
		"HOME=/home/x", "PYTHONINSPECT=1", "HEADRACE_WORKER_OF=another", "OMP_NUM_THREADS=4", "EMPTY=", "PYTHONPATH=:",
	}}
	want := []string{
		"HOME=/home/x", "OMP_NUM_THREADS=4", "EMPTY=",
		"MKL_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "NUMEXPR_NUM_THREADS=1", "OPENCV_FOR_THREADS_NUM=1",
		"MALLOC_MMAP_THRESHOLD_=16777216", "MALLOC_TRIM_THRESHOLD_=33554432",
	}
	if got := i.environment(); !slices.Equal(got, want) {
		t.Errorf("it is %q", got)
	}

	t.Setenv("HEADRACE_WORKER_OF", "mine")
	if got := i.environment(); !slices.Contains(got, "HEADRACE_WORKER_OF=mine") || slices.Contains(got, "HEADRACE_WORKER_OF=another") {
		t.Errorf("it is %q", got)
	}

	t.Setenv("FROM_THE_ENGINE", "yes")
	if got := new(Interpreter).environment(); !slices.Contains(got, "FROM_THE_ENGINE=yes") {
		t.Errorf("it is %q", got)
	}
}

// A user who has set one threshold of the C library knows better.
func TestThresholdsOfTheUsersOwn(t *testing.T) {
	for _, own := range []string{"MALLOC_MMAP_THRESHOLD_=65536", "MALLOC_TRIM_THRESHOLD_=0", "GLIBC_TUNABLES=glibc.malloc.perturb=0"} {
		i := &Interpreter{Environment: []string{own}}
		for _, entry := range i.environment() {
			if strings.HasPrefix(entry, "MALLOC_") && entry != own {
				t.Errorf("with %s there is %s", own, entry)
			}
		}
	}
}

// Relative entries of PYTHONPATH mean another folder once a program has changed to one,
// and empty ones the current folder.
func TestPythonPath(t *testing.T) {
	for _, c := range []struct {
		directory string
		path      []string // nil: as Python makes it
		value     string
		want      string
	}{
		{"", nil, "", ""},
		{"", nil, "/a:/b", "/a:/b"},
		{"", nil, ":/a::", "/a"},
		{"", nil, "lib:/a", "lib:/a"},
		{"/work", []string{"/work/lib"}, "lib:/a", "/work/lib:/a"},
		{"/work", []string{"/elsewhere"}, "lib:/a", "/a"},
		{"/work", []string{"/work"}, ":/a", "/work:/a"},
		{"/work", []string{}, ":/a", "/a"},
	} {
		i := &Interpreter{Directory: c.directory, Path: c.path}
		if got := i.pythonPath(c.value); got != c.want {
			t.Errorf("%q in %q with %q is %q, want %q", c.value, c.directory, c.path, got, c.want)
		}
	}
}

func TestCommand(t *testing.T) {
	i := &Interpreter{Arguments: []string{"-X", "dev"}}
	if got, want := i.command(3), []string{"-X", "dev", "-c", beginning, "--lanes", "3"}; !slices.Equal(got, want) {
		t.Errorf("it is %q", got)
	}
	i.Path = []string{"/a", "/b"}
	want := []string{"-X", "dev", "-c", beginning, "--lanes", "1", "--server", "--path", "/a", "/b"}
	if got := i.command(1, "--server"); !slices.Equal(got, want) {
		t.Errorf("it is %q", got)
	}
}

// A module in the current folder must not replace one of Python's.
func TestTheCurrentFolderIsImportedLast(t *testing.T) {
	python := scripted(t, "import json, sys; print(json.__name__, sys.path[0] == '')")
	python.Directory = t.TempDir()
	if err := os.WriteFile(filepath.Join(python.Directory, "json.py"), []byte("raise SystemExit('mine')"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range [][]string{nil, {}} {
		if path != nil { // what another program imports from
			out, err := exec.Command(python.Executable, "-c", "import sys; print('\\n'.join(sys.path[1:]))").Output()
			if err != nil {
				t.Fatal(err)
			}
			path = append(strings.Fields(string(out)), filepath.Join(must(filepath.Abs("testdata")), "scripted"))
		}
		python.Path = path
		command := exec.Command(python.Executable, python.command(1)...)
		command.Dir, command.Env = python.Directory, python.environment()
		if out, err := command.CombinedOutput(); err != nil || string(out) != "json False\n" {
			t.Errorf("with path %q: %v: %s", path, err, out)
		}
	}
}

func must(s string, err error) string {
	if err != nil {
		panic(err)
	}
	return s
}

func TestOf(t *testing.T) {
	i := &Interpreter{Executable: "python3", Environment: []string{"A=1", "B=2"}}
	own := i.Of(Set{Initializer: "train:begin", Environment: map[string]string{"B": "3", "C": "4"}})
	if want := []string{"A=1", "B=3", "C=4"}; !slices.Equal(own.Environment, want) || own.Initializer != "train:begin" || own.Executable != "python3" {
		t.Errorf("%+v", own)
	}
	if !slices.Equal(i.Environment, []string{"A=1", "B=2"}) || i.Initializer != "" {
		t.Errorf("the interpreter itself became %+v", i)
	}

	t.Setenv("FROM_THE_ENGINE", "yes")
	if got := new(Interpreter).Of(Set{Environment: map[string]string{"A": "1"}}).Environment; !slices.Contains(got, "FROM_THE_ENGINE=yes") || !slices.Contains(got, "A=1") {
		t.Errorf("it is %q", got)
	}
}

func TestImportsOf(t *testing.T) {
	i := &Interpreter{Functions: map[string][]byte{"#1": {1}, "#2": {2}}, Imports: map[string][]string{"#1": {"torch", "numpy"}}}
	for function, want := range map[string][]string{"#1": {"torch", "numpy"}, "#2": nil, "train:augment": {"train"}, "": nil} {
		if got := i.ImportsOf(function); !slices.Equal(got, want) {
			t.Errorf("%q: %q", function, got)
		}
	}
}

func TestDefault(t *testing.T) {
	t.Setenv("HEADRACE_PYTHON", "")
	if got := Default(); got.Executable != "python3" {
		t.Errorf("it is %q", got.Executable)
	}
	t.Setenv("HEADRACE_PYTHON", "/opt/python")
	if got := Default(); got.Executable != "/opt/python" || got.Own() != nil {
		t.Errorf("%+v", got)
	}
}
