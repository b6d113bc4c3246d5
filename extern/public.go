package extern

import (
	"headrace/extern/internal/child"
	"headrace/extern/internal/links"
	"headrace/extern/internal/shared"
	"headrace/wire"
)

// Heap is memory that the engine shares with its worker processes.
//
// Pieces begin at multiples of 64 bytes and hold anything. All methods may be called by
// several goroutines.
type Heap = shared.Heap

// NewHeap makes a heap without a piece in use.
func NewHeap() (*Heap, error) { return shared.NewHeap() }

// Interpreter says which Python workers are, and what they find there.
type Interpreter = child.Interpreter

// Default is the interpreter that $HEADRACE_PYTHON names, else python3 on PATH.
func Default() *Interpreter { return child.Default() }

// Set says what processes of a set of workers are, which steps may share.
type Set = child.Set

// Program is the program that opened the recipe, whose threads may call functions.
type Program = child.Program

// NewProgram returns the program at the other end of a connection.
func NewProgram(conn *wire.Conn) *Program { return child.NewProgram(conn) }

// Line is something that a worker has said.
type Line = child.Line

// EndAll ends all workers and what they have started, for a process that is about to
// exit.
func EndAll() { child.EndAll() }

// Link is a function of a chain.
type Link = links.Link

// LinkStats are counts of one function of a chain.
type LinkStats = links.Stats
