package message

// Setup describes a function to a worker. It is the first message on a connection.
type Setup struct {
	Number            int             `json:"number"` // that packs name it by
	Stage             string          `json:"stage"`
	Function          string          `json:"function"`
	Kind              string          `json:"kind"`
	Heap              int64           `json:"heap"`
	Pickle            *[2]int         `json:"pickle"` // where it is in the heap, and its length
	Keys              string          `json:"keys"`   // empty: samples have no names
	KeysPickle        *[2]int         `json:"keys_pickle"`
	Cells             []int64         `json:"cells"` // by caller
	In                []Field         `json:"in"`
	Rows              bool            `json:"rows"` // samples are batches
	Positional        bool            `json:"positional"`
	To                []string        `json:"to"`
	Gives             []Field         `json:"gives"` // null: to be found out
	Seed              []string        `json:"seed"`
	Copy              bool            `json:"copy"`
	States            bool            `json:"states"`
	Tape              string          `json:"tape"`  // of an iterable: what was tried under this name goes on; empty: nothing was
	Tried             bool            `json:"tried"` // it is to be found out what comes
	Rank              int             `json:"rank"`
	World             int             `json:"world"`
	InlineMost        int             `json:"inline_most"` // bytes of a result that travels with the message
	Chain             []SetupFunction `json:"chain"`       // functions that are called one after the other
	Initializer       string          `json:"initializer"` // called once in a process, before its first function is loaded; empty: none
	InitializerPickle *[2]int         `json:"initializer_pickle"`
	Exact             bool            `json:"exact"` // so many workers, or coroutines, are wanted
	Limit             float64         `json:"limit"` // seconds that a call may take; 0: any number
	Path              []string        `json:"path"`  // what sys.path must have, of workers that were begun for others
}

// SetupFunction describes a function of a chain to a worker.
type SetupFunction struct {
	Step     string   `json:"step"`
	Function string   `json:"function"`
	Pickle   *[2]int  `json:"pickle"`
	Kind     string   `json:"kind"`
	Fields   []string `json:"fields"` // null: it is given all, as a dict
	To       []string `json:"to"`
	Gives    []Field  `json:"gives"`
	Checks   bool     `json:"checks"`
	Seed     []string `json:"seed"`
	Copy     bool     `json:"copy"`
}
