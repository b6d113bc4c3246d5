package pack

import (
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
	"time"
)

// Kind is the kind of a function: how many samples it takes and returns.
type Kind string

// The kinds of functions.
const (
	Map     Kind = "map"      // a sample in, a sample out
	Filter  Kind = "filter"   // a sample in; true keeps it: [Call.Keep]
	FlatMap Kind = "flat_map" // a sample in, an iterable of samples out, by Pool.Stream
	// an object that samples are given to, and that gives others: accumulate and flush,
	// by Pool.Stream; one worker, one call at a time
	Aggregate Kind = "aggregate"
	Index     Kind = "index"   // an object that is asked for obj[Call.ID.Index]
	Iterate   Kind = "iterate" // an iterable, or a callable that returns one: epoch Call.ID.Index of it by Pool.Stream; one worker
	Chain     Kind = "chain"   // Options.Chain, one function after the other on a sample; false of a filter drops it: [Call.Keep]
	Choose    Kind = "choose"  // what chooses the sources of a mix; one worker: its objects have states
	Collate   Kind = "collate" // [Call.Rows] samples in, as a list; one sample out, whose fields are of the whole batch
)

// Value is a value of a sample on its way to a worker or from one. Arrays are contiguous.
type Value struct {
	Kind  sample.Kind
	DType tensor.DType
	Shape tensor.Shape
	Data  []byte // of all but text
	Text  string
}

// Column is memory for a field of the results of Call.Run: Data of arrays, one after the
// other, or Texts.
type Column struct {
	Data  []byte
	Texts []string
}

// Call is one sample's way through a function.
type Call struct {
	ID     sample.ID
	Key    string
	Random [2]uint64   // key of the sample's generator of random numbers
	Keys   [][2]uint64 // Chain: those of each function
	In     []Value     // in the order of Options.In; Collate: so many for each of Rows, or of Run
	Rows   int         // Collate: number of samples

	// Run are the numbers of many samples, instead of ID.Index: the function is called
	// for each of them, and results of field f are laid into Into[f]. For Index, and a
	// Chain that reads, with Options.Gives of text and arrays of one shape, and In of
	// text, so many for each. Ran says how many results there are: all, or those before
	// the sample that has failed, or those before the ones that the worker gives back
	// because a call takes long.
	Run  []int64
	Into []Column
	Ran  int

	Flush  bool // Aggregate: flush() is called, without a sample
	Begin  bool // Aggregate: a new object is made before, which the calls that follow are for, too
	Object int  // Aggregate: which of the worker's objects is called; they share nothing

	// Room is, by output, memory that the result is to be written into. Where that lies
	// in the heap, or in a segment that the pool knows of, the worker writes there,
	// but for small results; elsewhere the result is copied. nil, for one or all: the
	// pool takes a piece of the heap. A result that is larger than its Room does not fit,
	// which is the call's failure. Whatever the outcome, anything may have been written
	// there.
	Room [][]byte

	// Whole, of Collate, is memory for all arrays of the result: one after the other in
	// the order of Options.Gives, each at the next multiple of [WholeAlign] bytes. Where
	// it is in a segment that the pool knows of, or in the heap, the worker writes
	// those there that fit, but for single numbers; Data of Out says which these are. The
	// others come as without it, in pieces of the heap. Whatever the outcome, anything
	// may have been written there.
	Whole []byte

	// Place, of Pool.Stream, gives memory for a large array of a sample, by its number
	// among those of the stream, before yield is called with it. It may wait: the worker
	// does, too, and writes there then. Memory that is not as large as the array, or that
	// the worker cannot write into, is not used; a piece of the heap is. nil: that is
	// always so.
	Place func(item, field int) []byte

	// OneByOne, of Pool.Stream, has the function make a sample only when yield has
	// returned for the one before. Otherwise it is a few ahead.
	OneByOne bool

	// State, where it is not nil before the call, is given to load_state_dict(), as JSON,
	// before anything else. After a call of Aggregate that has given a sample, with
	// Options.States, it is that of state_dict(); nil: the object has none. Iterate
	// instead gives one more value with every sample, of text: the state after it, or ""
	// where there is none.
	State []byte

	// Out are the results, in the order of Options.Gives, or of Names. Data is the
	// caller's now, who gives it back to the heap, except where Same or Room say
	// otherwise. Memory for the slice itself is used again if there is some.
	Out   []Value
	Same  []int           // Out[i] is In[Same[i]], the same memory, changed where the function did that; -1: no. No two are the same.
	Names []string        // of Out, where Options.Gives is nil
	Keep  bool            // Filter, Chain
	Found []sample.Schema // Chain, where Options.Gives is nil: what each function has returned; nil of a filter

	// Unnamed says what to write where the sample's values have no fields, such as those
	// of a tuple; empty: they have. Index and Iterate without Options.Gives only.
	Unnamed string

	// Tuple are the values of a sample that is a tuple, which have numbers as names; nil:
	// it is none. Where Unnamed is.
	Tuple sample.Schema

	// Took is how long a worker worked for the call; of a stream, for what yield was
	// given so far. Of a coroutine it is the time from its own start to its end.
	Took time.Duration
}

// Bytes returns the size of the results in bytes.
func (c *Call) Bytes() (n int64) {
	for i := range c.Out {
		n += int64(len(c.Out[i].Data) + len(c.Out[i].Text))
	}
	return n
}

// WholeAlign is what arrays in Call.Whole are aligned to, in bytes.
const WholeAlign = 64
