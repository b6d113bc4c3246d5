package child

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Interpreter describes the Python that workers run: its executable, environment and
// import path.
type Interpreter struct {
	Executable  string              // a path, or a name on PATH
	Arguments   []string            // options of the interpreter, before -c
	Directory   string              // where workers run; empty: where the engine does
	Path        []string            // sys.path; nil: as the interpreter makes it
	Environment []string            // "NAME=value"; nil: that of the engine
	Functions   map[string][]byte   // pickles of callables by their names; others are imported
	Imports     map[string][]string // modules that these pickles need, by the names of the callables
	Modules     []string            // that are imported before any worker is forked
	// Code tells what the import of these modules runs: interpreters that are alike in
	// this, too, share the process that imports. Empty: nobody knows
	Code string

	Initializer string         // a function that each process calls before it loads others; empty: none
	Sets        map[string]Set // of workers, by the names that steps call them

	Program *Program // that opened the recipe, and whose threads may call functions; nil: it calls none
	program *Program // the workers are threads of it
}

// Here returns an interpreter whose workers are threads of the program that opened the
// recipe. They have its functions already.
func (i *Interpreter) Here() *Interpreter { return &Interpreter{program: i.Program} }

// Set describes the processes of a set of workers that several steps may share.
type Set struct {
	Name        string // by which loaders share it, too; empty: each has its own
	Processes   int    // 0: as many as a step has that does not say how many
	Threads     int    // of each
	Initializer string
	Environment map[string]string // besides the interpreter's
}

// Of returns the interpreter with the settings of a set of workers.
func (i *Interpreter) Of(s Set) *Interpreter {
	own := *i
	own.Initializer, own.Modules, own.Code = s.Initializer, nil, "" // the set imports what its own functions need
	if own.Environment == nil {
		own.Environment = os.Environ()
	}
	own.Environment = slices.DeleteFunc(slices.Clone(own.Environment), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		_, replaced := s.Environment[name]
		return replaced
	})
	for name, value := range s.Environment {
		own.Environment = append(own.Environment, name+"="+value)
	}
	slices.Sort(own.Environment)
	return &own
}

// key returns a value that is equal for interpreters which may share a server.
func (i *Interpreter) key() any {
	if i.Code == "" {
		return i
	}
	return fmt.Sprintf("%q", [][]string{{i.Executable, i.Directory, i.Code}, i.Arguments, i.Path, i.Environment})
}

// Own returns the program whose threads are the workers, or nil if they are processes.
func (i *Interpreter) Own() *Program { return i.program }

// ImportsOf returns the modules that a worker imports to load a function.
func (i *Interpreter) ImportsOf(function string) []string {
	if _, pickled := i.Functions[function]; pickled {
		return i.Imports[function]
	}
	if module, _, ok := strings.Cut(function, ":"); ok {
		return []string{module}
	}
	return nil
}

// Default returns the interpreter named by $HEADRACE_PYTHON, or python3 on PATH.
func Default() *Interpreter {
	name := os.Getenv("HEADRACE_PYTHON")
	if name == "" {
		name = "python3"
	}
	return &Interpreter{Executable: name}
}

// beginning is the program of a worker. Python puts the current folder first when it runs
// -c or -m, unless it was asked not to (-P, -I, PYTHONSAFEPATH). A data folder must not
// decide what workers import, so before anything is imported, sys.path becomes what Path
// says. Without Path the folder moves to the end, where a recipe's own functions are
// found and it hides nothing; and only once the worker has all that it is made of itself.
const beginning = `import sys
own = []
if "--path" in sys.argv:
    sys.path[:] = sys.argv[sys.argv.index("--path") + 1:]
elif "" in sys.path:
    sys.path.remove("")
    own.append("")
__import__("headrace.worker").worker.main(own)`

// command returns the arguments that start a worker.
func (i *Interpreter) command(conns int, more ...string) []string {
	arguments := append([]string{}, i.Arguments...)
	arguments = append(append(arguments, "-c", beginning, "--lanes", strconv.Itoa(conns)), more...)
	if i.Path != nil {
		arguments = append(append(arguments, "--path"), i.Path...)
	}
	return arguments
}

// environment returns the worker's environment. Math libraries start a thread per core in
// every process unless told otherwise; with as many processes as cores, one is right.
func (i *Interpreter) environment() (all []string) {
	environment := i.Environment
	if environment == nil {
		environment = os.Environ()
	}
	said := map[string]bool{}
	for _, entry := range environment {
		name, value, _ := strings.Cut(entry, "=")
		said[name] = true
		switch name {
		case "PYTHONINSPECT": // a worker is never asked at a prompt, for which Python would import readline from the current folder
		case "HEADRACE_WORKER_OF": // another engine's, if the program is itself below a worker
		case "PYTHONPATH":
			if path := i.pythonPath(value); path != "" {
				all = append(all, name+"="+path)
			}
		default:
			all = append(all, entry)
		}
	}
	if mark := os.Getenv("HEADRACE_WORKER_OF"); mark != "" { // by which the program finds what is left of workers if this process dies
		all = append(all, "HEADRACE_WORKER_OF="+mark)
	}

	for _, name := range []string{
		"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS", "OPENCV_FOR_THREADS_NUM",
	} {
		if !said[name] {
			all = append(all, name+"=1")
		}
	}
	return append(all, keepsMemory(said)...)
}

// keepsMemory has the C library keep memory that a function frees for its next call. By
// itself glibc gives it back whenever more than 128 KiB lie free at the end, and the next
// image is written to fresh pages, which the system has to clear: a quarter of the time
// that Pillow takes to decode and resize a photograph. After freeing a piece of 16 MiB
// glibc would have these thresholds, too.
func keepsMemory(said map[string]bool) []string {
	const piece = 16 << 20
	if said["MALLOC_MMAP_THRESHOLD_"] || said["MALLOC_TRIM_THRESHOLD_"] || said["GLIBC_TUNABLES"] {
		return nil // somebody knows better
	}
	return []string{fmt.Sprint("MALLOC_MMAP_THRESHOLD_=", piece), fmt.Sprint("MALLOC_TRIM_THRESHOLD_=", 2*piece)}
}

// pythonPath returns PYTHONPATH without entries that let a data folder decide which
// modules Python imports at startup (encodings, sitecustomize), before our own code runs.
// Without Path these are the empty entries, which mean the current folder and are usually
// left behind by PYTHONPATH=$PYTHONPATH:/x. With Path, the program may have changed
// folder since it started, so relative entries are kept only if they still name a folder
// it imports from.
func (i *Interpreter) pythonPath(value string) string {
	var kept []string
	for _, entry := range strings.Split(value, string(filepath.ListSeparator)) {
		switch absolute := filepath.Join(i.Directory, entry); {
		case filepath.IsAbs(entry):
			kept = append(kept, entry)
		case i.Path == nil && entry != "":
			kept = append(kept, entry)
		case i.Path != nil && slices.Contains(i.Path, absolute):
			kept = append(kept, absolute)
		}
	}
	return strings.Join(kept, string(filepath.ListSeparator))
}
