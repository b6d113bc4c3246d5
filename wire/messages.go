package wire

import (
	"encoding/json"
	"time"
)

// Hello opens the control connection in both directions. The fields after PID come from
// the engine.
type Hello struct {
	Protocol int             `json:"protocol"`
	Client   string          `json:"client,omitempty"`  // the client's name
	Version  string          `json:"version,omitempty"` // of who says it; a client that is no part of Headrace has none
	PID      int             `json:"pid"`
	Commit   string          `json:"commit,omitempty"`
	Decoder  string          `json:"decoder,omitempty"`
	Features json.RawMessage `json:"features,omitempty"` // of package internal/version
	CPUs     int             `json:"cpus,omitempty"`     // usable cores
}

// Open asks for a loader. Recipe, Config and State are read by those who define them.
type Open struct {
	Recipe json.RawMessage `json:"recipe"`
	Config json.RawMessage `json:"config"`
	State  json.RawMessage `json:"state,omitempty"`

	SerialUntil *Until `json:"serial_until,omitempty"` // as in Start
	Idle        bool   `json:"idle,omitempty"`         // make nothing before a Start
	// begin so many batches after State, and tell of every batch where its rows come
	// from
	Replay *int64 `json:"replay,omitempty"`

	Python *Python `json:"python,omitempty"` // for the functions of Python in the recipe; nil: the engine's environment says

	// the address of the loader's metrics, as package metrics reads it; empty: none
	Metrics string `json:"metrics,omitempty"`

	Page    *Page  `json:"page,omitempty"`    // open the loader's page; nil: not now
	Program string `json:"program,omitempty"` // the name of the program, for that page
}

// Page asks for the page of a loader: a live view in a browser.
type Page struct {
	Port int `json:"port"` // 0: any that is free
}

// Paged answers a Page.
type Paged struct {
	Address string `json:"address,omitempty"`
	Error   string `json:"error,omitempty"` // why there is no page
}

// Python says which interpreter calls the functions of a recipe, and what it finds there.
type Python struct {
	Executable  Path                 `json:"executable"`
	Arguments   []Path               `json:"arguments"`   // of the interpreter
	Directory   Path                 `json:"directory"`   // in which it runs; nil: the engine's
	Path        []Path               `json:"path"`        // sys.path; nil: the interpreter's own
	Environment map[string]Path      `json:"environment"` // nil: the engine's
	Functions   map[string][]byte    `json:"functions"`   // by their names in the recipe, pickles of those that are not imported
	Imports     map[string][]string  `json:"imports"`     // modules that these pickles need, by the same names
	Modules     []string             `json:"modules"`     // those of all functions, which are imported before workers are forked
	Code        string               `json:"code"`        // equal where importing modules runs the same code; empty: unknown
	Sets        map[string]PythonSet `json:"sets"`        // of workers that steps name
}

// PythonSet says what processes of a set of workers are.
type PythonSet struct {
	Name        string          `json:"name"`      // by which all loaders share it
	Processes   int             `json:"processes"` // 0: as many as there are cores to use
	Threads     int             `json:"threads"`
	Initializer string          `json:"initializer"` // among Functions; empty: none
	Environment map[string]Path `json:"environment"` // besides that of the others
}

// Log is what a function of Python has logged, warned or printed.
type Log struct {
	Stage   string `json:"stage"`
	Level   string `json:"level"`
	Logger  string `json:"logger"`
	Message string `json:"message"`
}

// Preview asks, instead of Open, for a contact sheet of the first samples of an
// epoch. The state and what learns of replays is not heeded.
type Preview struct {
	Open
	Title   string `json:"title"` // above the sheet
	Samples int    `json:"samples"`
	Epoch   int    `json:"epoch"`
	Columns int    `json:"columns,omitempty"` // 0: a sheet that is wider than high
	Tile    int    `json:"tile,omitempty"`    // longest side of an image in pixels; 0: its own, between 128 and 256
}

// Previewed answers a Preview. It is before the sheet, which is a PNG.
type Previewed struct {
	Width   int           `json:"width"` // of the sheet, in pixels
	Height  int           `json:"height"`
	Of      int64         `json:"of"` // samples in the epoch; -1: nobody knows
	Samples []PreviewTile `json:"samples"`
}

// PreviewTile is a sample on a contact sheet.
type PreviewTile struct {
	Key   Path   `json:"key"`
	Label string `json:"label,omitempty"` // the name of its class, and its number
	Error string `json:"error,omitempty"` // why there is no image
}

// IO begins a session that does one thing on media after the other. Its descriptor is
// the client's inbox, a file in which inputs are.
type IO struct {
	Protocol int    `json:"protocol"`
	Token    string `json:"token,omitempty"` // at a socket that Share has opened, the one that it named
	Cores    int    `json:"cores,omitempty"` // how many may be used; 0: all that are usable, divided by the next
	Ranks    int    `json:"local_world_size,omitempty"`
}

// Failure is why an input of a Task came to nothing, or, without an index, the whole
// Task.
type Failure struct {
	Index   *int   `json:"index,omitempty"`
	Code    Code   `json:"code"` // recipe: what was asked for cannot be; sample: of the input; memory; internal
	Message string `json:"message"`
	Errno   int    `json:"errno,omitempty"` // the system's number of the error, if it has one
}

// Share begins a session, as long as which other processes may connect at a socket and
// begin sessions with IO there. Its descriptor is that socket, which listens.
type Share struct {
	Token string `json:"token"`
}

// Rows precedes a Batch of a session that replays.
type Rows struct {
	Rows []Row `json:"rows"`
}

// Row is a sample in a row of a batch.
type Row struct {
	Row      int       `json:"row"`
	Source   string    `json:"source"`
	Index    int64     `json:"index"`
	Output   []int64   `json:"output"` // which of the samples that were made of that one; none: the source's own
	Key      Path      `json:"key"`
	Epoch    int       `json:"epoch"`
	Position int64     `json:"position"`
	Draws    []Draw    `json:"draws"`
	Replaced *Replaced `json:"replaced,omitempty"`
}

// Draw is what a random operation drew for a row.
type Draw struct {
	Step   string         `json:"step"`
	Values map[string]any `json:"values"`
}

// Replaced is the sample in whose place that of a row came.
type Replaced struct {
	Index  int64   `json:"index"`
	Output []int64 `json:"output"`
	Key    Path    `json:"key"`
	Stage  string  `json:"stage"`
	Error  string  `json:"error"`
}

// Start drops what is under way and goes on from State in a new stream.
type Start struct {
	State       json.RawMessage `json:"state"`
	SerialUntil *Until          `json:"serial_until,omitempty"` // one operation at a time below this place
}

// Gather asks for the record with which to go on from those of other ranks.
type Gather struct {
	States []json.RawMessage `json:"states"`
}

// Gathered answers a Gather: by the record, or by why there is none.
type Gathered struct {
	State any    `json:"state,omitempty"`
	Error string `json:"error,omitempty"`
}

// Workers asks for another number of workers.
type Workers struct {
	Stage   string `json:"stage"` // "": all that compute
	Workers int    `json:"workers"`
}

// Stages answers Workers: by the stages as they are now, or by why nothing has changed.
type Stages struct {
	Workers int    `json:"workers,omitempty"` // of the stages that compute, where they have one number
	Stages  any    `json:"stages,omitempty"`  // as in OPENED
	Error   string `json:"error,omitempty"`
}

// Stats asks for statistics; its payload may be empty, which says nothing.
type Stats struct {
	Number int64           `json:"number"`          // the client's number of this question
	Since  json.RawMessage `json:"since,omitempty"` // statistics that were answered before: those of the time since then
	Loop   *Loop           `json:"loop,omitempty"`  // nil: the client does not tell
}

// Close ends a session; its payload may be empty, which says nothing.
type Close struct {
	Loop *Loop `json:"loop,omitempty"`
}

// Loop is what the client's own clock says, since OPEN.
type Loop struct {
	Batches int64         `json:"batches"`   // that the loop was given
	Start   time.Duration `json:"start_ns"`  // it waited in next() for the first batch of each stream
	Loop    time.Duration `json:"loop_ns"`   // it lasted from there on, without what came between epochs
	Waited  time.Duration `json:"waited_ns"` // of that it was in next()
	Handed  time.Duration `json:"handed_ns"` // of that a batch was there when it was asked for, without Main
	Main    time.Duration `json:"main_ns"`   // of that the program's own functions of batches took
}

// Refused answers Stats, where the time since cannot be reported.
type Refused struct {
	Number int64  `json:"number"`
	Error  string `json:"error"`
}

// Trace asks for a file of what every worker does; without a path, for its end.
type Trace struct {
	Path   Path         `json:"path,omitempty"`
	Events []TraceEvent `json:"events,omitempty"` // at its end: what the program has told of itself
}

// TraceEvent is a span of the program, or a number.
type TraceEvent struct {
	Name   string   `json:"name"`
	Thread string   `json:"thread"`
	Begin  int64    `json:"begin"` // nanoseconds since 1970
	Took   int64    `json:"took"`  // nanoseconds
	Value  *float64 `json:"value,omitempty"`
}

// Traced answers a Trace: at its end, by what was written; or by why there is no trace,
// or not all of it.
type Traced struct {
	Events  int64  `json:"events"`
	Bytes   int64  `json:"bytes"`
	Dropped int64  `json:"dropped"`
	Error   string `json:"error,omitempty"`
	Errno   int    `json:"errno,omitempty"` // the system's number of the error, if it has one
}

// Until is a place in an epoch.
type Until struct {
	Epoch     int64            `json:"epoch"`
	Positions map[string]int64 `json:"positions"` // by source
}

// Epoch follows the last batch of an epoch.
type Epoch struct {
	Epoch    int   `json:"epoch"`
	Batches  int64 `json:"batches"`
	Samples  int64 `json:"samples"` // rows yielded
	Lost     int64 `json:"lost"`
	Replaced int64 `json:"replaced"` // of the samples, those that came instead of others
	Wrapped  int64 `json:"wrapped"`  // samples taken twice so that every rank has its share
	Last     bool  `json:"last"`
}

// Code classes an [Error].
type Code string

// The codes of errors; docs/protocol.md says which of them end a session.
const (
	CodeProtocol Code = "protocol"
	CodeRecipe   Code = "recipe"
	CodeSource   Code = "source"
	CodeSample   Code = "sample"
	CodeBudget   Code = "budget"
	CodeShort    Code = "short"
	CodeHeld     Code = "held"
	CodeMemory   Code = "memory"
	CodeInternal Code = "internal"
)

// Error reports a failure to the client. The fields after Message are set where a
// sample is to blame.
type Error struct {
	Code     Code    `json:"code"`
	Message  string  `json:"message"`
	Stage    string  `json:"stage,omitempty"`
	Source   string  `json:"source,omitempty"`
	Key      Path    `json:"key,omitempty"`
	Index    *int64  `json:"index,omitempty"`
	Output   []int64 `json:"output,omitempty"`
	Position *int64  `json:"position,omitempty"`
	Epoch    *int    `json:"epoch,omitempty"`

	Step string `json:"step,omitempty"` // the step that failed, by its name in the recipe, where the stage carries out several

	// Of a function of Python:
	RemoteType      string `json:"remote_type,omitempty"`      // the exception's: "ValueError", with its module where that is not builtins
	RemoteMessage   string `json:"remote_message,omitempty"`   // its text
	RemoteTraceback string `json:"remote_traceback,omitempty"` // as Python writes it, from the function on
}

// Path is a path in JSON: in the form that recipe.Path writes, which keeps bytes that
// are no UTF-8.
type Path = json.RawMessage

// Lost reports one sample that failed under a policy that tolerates it.
type Lost struct {
	Epoch    int     `json:"epoch"`
	Source   string  `json:"source"`
	Place    string  `json:"place,omitempty"` // the key of a record's sources; empty: Source
	Position int64   `json:"position"`
	Index    int64   `json:"index"`
	Output   []int64 `json:"output"`
	Key      Path    `json:"key"`
	Stage    string  `json:"stage"`
	Step     string  `json:"step,omitempty"` // as in Error
	Error    string  `json:"error"`
	Replaced bool    `json:"replaced,omitempty"` // another came in its place
}

// Note is a warning for people.
type Note struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}
