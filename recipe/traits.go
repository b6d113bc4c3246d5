package recipe

import (
	"fmt"
	"strings"
	"time"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/sample"
)

// Traits are what plans, checks and pictures of a recipe have to know of a step besides
// what its Check says. An operation states them in one place, and nobody asks for the
// type of its arguments.
type Traits struct {
	Count Count // how many samples come of those that it takes

	// Content says what the operation decodes or works on in a single sample, so that it
	// cannot come after a step that makes batches: "image", "array", "audio" or "video".
	// Empty: it does not look into samples, or takes batches too.
	Content string
	// Suffixes are those of the names of files with such content, in lower case: a folder
	// is listed for them. nil: the step decodes none.
	Suffixes []string

	Call    *Call    // the Python function that it calls; nil: none
	Batches *Batches // how it makes batches; nil: it makes none
	Merging *Merging // how it puts its chains together; nil: it is not merge or mix
	Routing *Routing // how it deals samples to its chains; nil: it is not route
	Tied    *Tied    // boxes or points that go along with an image from here on; nil: none

	Columns bool    // it makes fields of others, of a sample or of a batch: steps that do are one part
	Copies  string  // the field whose value several get; "": none
	Cuts    *On     // the image of which it makes several; nil: none
	Seed    *uint64 // of its own, instead of the recipe's
	Selects bool    // it says which samples of a source come, and not in which order
	Divides bool    // by what they are, and so before anything orders them
	Lanes   int     // into which the order is divided; 0: it says nothing of them
	Lists   int64   // batches of which a sampler gives the samples as lists; 0: it gives none
	Notes   string  // for people, after the number of samples: "shuffled again in each epoch"
}

// Count is how many samples come of those that a step takes.
type Count uint8

// The counts.
const (
	Same    Count = iota // one of each
	Fewer                // one of each, or none
	Times                // several of each, and equally many of each where the arguments say so
	More                 // any number of each
	Gathers              // any number of several
	Rows                 // those of which a batch consists
)

// CallKind is when a Python function is called, and with what.
type CallKind uint8

// The kinds.
const (
	MapCall       CallKind = iota // with each sample, of which it makes one
	FilterCall                    // with each sample, of which it says whether it stays
	FlatMapCall                   // with each sample, of which it makes any number
	AggregateCall                 // with each sample of an epoch in turn
	SourceCall                    // for each sample, by number or as the next
	OrderCall                     // for each epoch, and gives the numbers of its samples
	CollateCall                   // with the samples of a batch
)

// Decoder is implemented by arguments of steps that make images or clips of what is
// compressed. Steps on images that follow are carried out on the way.
type Decoder interface {
	Args
	// Decoding says what is decoded of samples of a schema. The arguments must be
	// complete and checked.
	Decoding(in sample.Schema) Decoding
}

// Decoding is what a [Decoder] does.
type Decoding struct {
	Field, To string
	Options   media.Options
	Form      media.Form // of what comes out
	Besides   bool       // it makes other fields too, or keeps Field
}

// OnRows is implemented by arguments of steps to which the rows of a batch are samples.
type OnRows interface {
	Args
	// CheckRows is Check for batches, whose fields have an axis of rows before their own.
	CheckRows(in sample.Schema) (sample.Schema, error)
}

// Opened is implemented by arguments of sources whose samples are files.
type Opened interface {
	Args
	// From returns the folder of relative names, and the largest size of a file.
	From() (root string, most int64)
}

// Opener is implemented by arguments of steps that may open a file by its path.
type Opener interface {
	Args
	// Opens reports whether they do, of samples of a schema.
	Opens(in sample.Schema) bool
}

// Call is a Python function that a step calls.
type Call struct {
	Kind CallKind
	Python
	Pace
	To    []string
	Gives *Gives // nil: it gives no fields

	Length *int64 // of a source: how many samples it has; nil: they come as the object gives them, in its own order
	Keys   string // of a source: what gives names of samples, as Function is; "": nothing does
}

// Results are the names of what the function returns; nil: it returns whole samples.
func (c *Call) Results() []string {
	if c.To != nil {
		return c.To
	}
	return c.Fields
}

// Named reports whether a source gives its samples names of their own: by Keys, or in the
// field key.
func (c *Call) Named() bool { return c.Keys != "" || c.Gives.Schema.Find("key") >= 0 }

// Iterated reports whether it is a source whose samples have no numbers.
func (c *Call) Iterated() bool { return c.Kind == SourceCall && c.Length == nil }

// Streams reports whether a call goes on beyond one sample: its worker is asked for the
// next of several, or holds what came before.
func (c *Call) Streams() bool {
	return c.Iterated() || c.Kind == FlatMapCall || c.Kind == AggregateCall || c.Kind == OrderCall
}

// Unknown reports whether nobody has said yet what the function gives.
func (c *Call) Unknown() bool { return c != nil && c.Gives != nil && c.Gives.Schema == nil }

// Giving is implemented by arguments with a function of which it may be unknown what it
// gives.
type Giving interface {
	Args
	// WithGives returns a copy that says it.
	WithGives(Gives) Args
}

// Batches say how a step makes batches: it stacks samples as they come, unless there is
// a policy by which they come together.
type Batches struct {
	Size       int // samples, on each rank
	GlobalSize int // samples, over all ranks
	DropLast   bool
	Lists      bool // the lists of a sampler are the batches
	Collate    *Collate
	Ragged     []string // fields of which a batch has an array of its own for each row

	MaxWait time.Duration // a batch that is not full is given after it; 0: only at the end of an epoch

	Buckets *Buckets // by length; nil: not so
	Pack    *Packing // several into a row; nil: not so
	Own     Batcher  // of a program; nil: not so
}

// Policy reports whether it depends on the samples which of them come together.
func (b *Batches) Policy() bool { return !b.Stacks() || b.Lists }

// Stacks reports whether samples are stacked as they come.
func (b *Batches) Stacks() bool { return b.Buckets == nil && b.Pack == nil && b.Own == nil }

// arrays reports whether the values of samples become arrays, which all have one shape.
func (b *Batches) arrays() bool { return b != nil && b.Stacks() && b.Collate == nil }

// DropsLast reports whether batches that are not full when an epoch ends are left out.
func (b *Batches) DropsLast() bool {
	switch {
	case b.Buckets != nil:
		return b.Buckets.DropLast
	case b.Pack != nil:
		return b.Pack.DropLast
	case b.Own != nil:
		return b.Own.DropsLast()
	}
	return b.DropLast
}

// Stacker is implemented by arguments of the operation that stacks samples.
type Stacker interface {
	Args
	WithBatches(Batches) Args
}

// StackOf returns arguments of the operation batch that make such batches, which no
// policy makes.
func StackOf(b Batches) Args {
	op, _ := Find("batch")
	return op.New().(Stacker).WithBatches(b)
}

// Buckets are batches of sequences of like length.
type Buckets struct {
	Lengths []int
	// of a full batch, by bucket, where the step takes this and a rank's share is so much
	Rows     func(in sample.Schema, share int) ([]int, error)
	Longest  bool // pad to the longest sample of a batch
	Pad      PadValue
	Overlong string
	DropLast bool
	By       string // the field whose length counts, others being padded to their own longest; "": the longest of all
}

// Packing is how sequences come into rows.
type Packing struct {
	Lengths  RowLengths
	Size     int // rows of a batch, on each rank; 0: GlobalSize says so
	Open     int // rows' worth of samples that are held
	Segments int // most samples of a row; 0: as many as have room
	Fit      string
	Domain   string // the field of which a row has one value; "": of any
	Pad      PadValue
	Overlong string
	DropLast bool
}

// Cuts reports whether a sample may be in two rows.
func (p *Packing) Cuts() bool { return p.Fit == "wrap" || p.Fit == "best-wrap" }

// Rows are the lengths of a row: one for all sequences, or one for each, in the order of
// the schema.
func (p *Packing) Rows(in sample.Schema) (all []int) {
	if p.Lengths.Fields == nil {
		return []int{p.Lengths.All}
	}
	for _, f := range in.Ragged() {
		all = append(all, p.Lengths.Of(f.Name))
	}
	return all
}

// The names of the fields that say where sequences are, after that of a field which is
// packed.
const (
	SegmentIDs = "_segment_ids"
	Positions  = "_positions"
	CuSeqlens  = "_cu_seqlens"
	MaxSeqlen  = "_max_seqlen"
)

// Tied are boxes or points of an image.
type Tied struct {
	Field  string   // with the boxes or points
	Along  []string // fields with a row for each box
	Image  string
	Format string // of the boxes, as torchvision names it
	Points bool   // they are points
}

// Kind returns the name of the operation that ties them.
func (t *Tied) Kind() string {
	if t.Points {
		return "points"
	}
	return "boxes"
}

// Merging says how a merge or a mix puts its chains together.
type Merging struct {
	Order string // of a mix "mix"
	Until Until
	Fill  *PadValue
	Mix   *Mixing // nil: it is merge
}

// Varies reports whether the order of samples differs between runs, so that no run can be
// repeated.
func (m *Merging) Varies() bool { return m != nil && m.Order == "arrival" }

// Routing says which of its chains a route gives a sample to: the first that has its
// value of the field By. Whens of nil take all that no other takes.
type Routing struct {
	By    string
	Whens [][]When
}

// Label names the values that the i-th chain takes, for people: `"*.png", "*.gif"`.
func (r *Routing) Label(i int) string {
	if r.Whens[i] == nil {
		return "all others"
	}
	texts := make([]string, len(r.Whens[i]))
	for k, w := range r.Whens[i] {
		texts[k] = w.Text()
	}
	if len(texts) > 4 {
		texts = append(texts[:3:3], fmt.Sprintf("… %d in all", len(texts)))
	}
	return strings.Join(texts, ", ")
}

// Traited is implemented by arguments that have traits.
type Traited interface{ Traits() Traits }

// TraitsOf returns what there is to know of a step with these arguments, which must be
// complete.
func TraitsOf(args Args) (t Traits) {
	switch args := args.(type) {
	case Traited:
		t = args.Traits()
	case Transform:
		t.Content = "image"
	case Batcher:
		t.Batches = &Batches{Own: args}
	}
	return t
}

// ChainsOf returns the chains of steps that arguments hold, in the order of the text.
func ChainsOf(args Args) []Chain {
	if n, ok := args.(Nesting); ok {
		return n.Chains()
	}
	return nil
}

// EachChain returns arguments with others in the places of the chains that they hold;
// where they hold none, the arguments.
func EachChain(args Args, do func([]Step) []Step) Args {
	if n, ok := args.(Nesting); ok {
		return n.With(each(n.Chains(), do))
	}
	return args
}
