package extern

import (
	"time"

	"github.com/headrace/headrace/sample"
)

// Options describe the function that a pool runs, and its workers.
type Options struct {
	Stage    string // a name for people
	Function string // "module:qualname": the pickle of that name in Interpreter.Functions, else it is imported
	Kind     Kind
	// Index: what tells the samples' names by their numbers, like Function: called, or
	// indexed. A sample's name is one more value, of text, after its others, and in
	// CallError.Key
	Keys        string
	Interpreter *Interpreter // nil: Default()
	Heap        *Heap
	Workers     int      // processes, or threads of the one process; less than 1: 1
	On          *Workers // that other pools work on, too, with the same Interpreter, Heap, Log and Threads; nil: workers of its own
	User        any      // On, where it was joined: who did, with an Interpreter and a Log of its own
	// of an async function, so many calls run beside each other in one worker; without
	// it each worker runs as many as come to it
	Exact   bool
	Beside  bool // Exact: it is known to be async, as a pool before this one has found it: [Pool.Beside]
	Idle    bool // no process is started, so nothing is imported: the pool is only described
	Threads bool // threads of one process

	Chain []Link // Chain: the functions, in their order. Function, Positional, To, Seed and Copy say nothing then

	In         sample.Schema // fields that the function is given
	Rows       bool          // these are of batches, and a list that is returned has a value for each row
	Positional bool          // as arguments, and it returns a value, or a tuple of them; else a dict, and it returns one
	To         []string      // Positional: the names of what it returns; nil: as In
	Gives      sample.Schema // what it returns; nil (and not Filter): whatever it is, which Call.Names then tells
	Seed       []string      // generators that are seeded for each sample: "random", "numpy", "torch"
	// the function may keep what it is given; with Threads always: what one has changed
	// in place when another ends their process cannot be done again
	Copy   bool
	States bool // Aggregate, Iterate: state_dict() is asked for, see Call.State
	// Iterate: a name for what pools of the same workers are of; one that is not Tried
	// has the samples that those before it had, and those that follow
	Tape  string
	Tried bool // it is to be found out what comes
	Rank  int  // Iterate: a callable with two parameters is called with (Rank, World)
	World int

	Limit time.Duration // of one call, or of one item of a stream; 0: none
	Log   func(Line)    // what workers print, log and warn; nil: nothing. It must not block; several goroutines call it.
}
