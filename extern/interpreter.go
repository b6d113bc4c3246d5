package extern

import (
	"os"
	"strconv"
	"strings"
)

// Interpreter says which Python workers are, and what they find there.
type Interpreter struct {
	Executable  string            // a path, or a name on PATH
	Arguments   []string          // options of the interpreter, before -c
	Directory   string            // where workers run; empty: where the engine does
	Path        []string          // sys.path; nil: as the interpreter makes it
	Environment []string          // "NAME=value"; nil: that of the engine
	Functions   map[string][]byte // pickles of callables by their names; others are imported
}

// Default is the interpreter that $HEADRACE_PYTHON names, else python3 on PATH.
func Default() *Interpreter {
	name := os.Getenv("HEADRACE_PYTHON")
	if name == "" {
		name = "python3"
	}
	return &Interpreter{Executable: name}
}

// beginning is the program of a worker. Python puts the current folder first when it runs -c or -m, unless it was told not to (-P, -I, PYTHONSAFEPATH). A data folder must not decide what
// workers import, so before anything is imported, sys.path becomes what Path says. Without Path the folder moves to the end, where it hides nothing, but a recipe's own functions are found.
const beginning = `import sys
if "--path" in sys.argv:
    sys.path[:] = sys.argv[sys.argv.index("--path") + 1:]
elif "" in sys.path:
    sys.path.remove("")
    sys.path.append("")
__import__("headrace.worker").worker.main()`

// command is what a worker is started with, after the name of its program.
func (i *Interpreter) command(lanes int) []string {
	arguments := append([]string{}, i.Arguments...)
	arguments = append(arguments, "-c", beginning, "--lanes", strconv.Itoa(lanes))
	if i.Path != nil {
		arguments = append(append(arguments, "--path"), i.Path...)
	}
	return arguments
}

// environment is what the worker is given. Libraries of mathematics start a thread for each core in every process, unless somebody has said how many: one is right where the
// processes are as many as the cores.
func (i *Interpreter) environment() (all []string) {
	environment := i.Environment
	if environment == nil {
		environment = os.Environ()
	}
	said := map[string]bool{}
	for _, entry := range environment {
		name, _, _ := strings.Cut(entry, "=")
		said[name] = true
		if name != "PYTHONINSPECT" { // a worker is never asked at a prompt, for which Python would import readline from the current folder
			all = append(all, entry)
		}
	}
	for _, name := range []string{"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS", "OPENCV_FOR_THREADS_NUM"} {
		if !said[name] {
			all = append(all, name+"=1")
		}
	}
	return all
}
