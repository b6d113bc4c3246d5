package extern

import (
	"headrace/extern/internal/child"
	"headrace/extern/internal/links"
	"headrace/extern/internal/message"
	"headrace/extern/internal/pack"
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

// CommonHeap returns the heap that is used by all who [Join] workers. It is to be closed
// as often as it was returned.
func CommonHeap() (*Heap, error) { return shared.Common() }

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

// Call is one sample's way through a function.
type Call = pack.Call

// Value is a value of a sample on its way to a worker or from one. Arrays are contiguous.
type Value = pack.Value

// WholeAlign is what arrays in Call.Whole are aligned to, in bytes.
const WholeAlign = pack.WholeAlign

// Kind says what a function does with samples.
type Kind = pack.Kind

// The kinds of functions.
const (
	Map       = pack.Map
	Filter    = pack.Filter
	FlatMap   = pack.FlatMap
	Aggregate = pack.Aggregate
	Index     = pack.Index
	Iterate   = pack.Iterate
	Chain     = pack.Chain
	Collate   = pack.Collate
)

// CallError is an exception that the function raised, or what is wrong with its result.
// The worker lives on.
type CallError = message.CallError

// LimitError says that the function took longer than its time limit. Its worker was
// ended, and another one started; of an async function the one call was cancelled.
type LimitError = pack.LimitError
