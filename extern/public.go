package extern

import (
	"github.com/headrace/headrace/extern/internal/chain"
	"github.com/headrace/headrace/extern/internal/child"
	"github.com/headrace/headrace/extern/internal/message"
	"github.com/headrace/headrace/extern/internal/pack"
	"github.com/headrace/headrace/extern/internal/shared"
	"github.com/headrace/headrace/wire"
)

// Heap is memory that the engine shares with its worker processes.
//
// Pieces begin at multiples of 64 bytes and hold anything. All methods may be called by
// several goroutines.
type Heap = shared.Heap

// NewHeap makes a heap without a piece in use.
func NewHeap() (*Heap, error) { return shared.NewHeap() }

// CommonHeap returns the heap shared by all loaders that [Join] workers. Close it as
// often as it was returned.
func CommonHeap() (*Heap, error) { return shared.Common() }

// Interpreter describes the Python that workers run: its executable, environment and
// import path.
type Interpreter = child.Interpreter

// Default is the interpreter that $HEADRACE_PYTHON names, else python3 on PATH.
func Default() *Interpreter { return child.Default() }

// Set describes the processes of a set of workers that several steps may share.
type Set = child.Set

// Program is the program that opened the recipe, whose threads may call functions.
type Program = child.Program

// NewProgram returns the program at the other end of a connection.
func NewProgram(conn *wire.Conn) *Program { return child.NewProgram(conn) }

// Line is a line of a worker's output or log.
type Line = child.Line

// EndAll kills all workers and their descendants. Call it before the process exits.
func EndAll() { child.EndAll() }

// Link is one function of a chain.
type Link = chain.Function

// LinkStats counts the calls of one function of a chain.
type LinkStats = chain.Stats

// Call is one sample's way through a function.
type Call = pack.Call

// Column is memory for a field of the results of Call.Run.
type Column = pack.Column

// Value is a value of a sample on its way to a worker or from one. Arrays are contiguous.
type Value = pack.Value

// WholeAlign is what arrays in Call.Whole are aligned to, in bytes.
const WholeAlign = pack.WholeAlign

// Kind is the kind of a function: how many samples it takes and returns.
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
	Choose    = pack.Choose
	Collate   = pack.Collate
)

// CallError is an exception that the function raised, or an invalid result. The worker
// lives on.
type CallError = message.CallError

// LimitError says that the function took longer than its time limit. Its worker was
// ended, and another one started; of an async function the one call was cancelled.
type LimitError = pack.LimitError
