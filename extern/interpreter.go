package extern

import "os"

// Interpreter says which Python workers are, and what they find there.
type Interpreter struct {
	Executable  string            // a path, or a name on PATH
	Arguments   []string          // options of the interpreter, before -m
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
