package shard

import (
	"context"
	"io"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard/index"
)

// File is a shard: an object that is read in place. ReadAt may be called by several
// goroutines at once.
type File interface {
	io.ReaderAt
	Name() string // as it was given, for messages
	Size() int64
	// Beside opens another file of the same folder, such as the index that came with a
	// shard. It is closed with the shard. A name that has a separator is refused.
	Beside(name string) (File, error)
}

// Index opens a file beside a shard that another program may have put there, and that the
// shard can be read without: none that somebody could have written who could not have
// written the shard.
func Index(f File, name string) (File, error) {
	if o, ok := f.(interface {
		index(name string) (File, error)
	}); ok {
		return o.index(name)
	}
	return f.Beside(name)
}

// Format is a kind of file that has many samples.
type Format interface {
	// Name is what recipes and messages call it, as "tar".
	Name() string
	// Suffixes are those of its files, as ".tar".
	Suffixes() []string
	// Begins tells from the first bytes of a file, at most 512, whether it is of this
	// format. Where no bytes tell, as of text, it returns false, and the suffix decides.
	Begins(head []byte) bool
	// Scan finds the samples of a shard, in the order in which they are in it. What it
	// reads is less than the whole where the format allows that.
	Scan(ctx context.Context, f File, found *index.Builder) error
}

// Accompanied is a format of which a file beside a shard says where its samples are.
type Accompanied interface {
	Format
	// Companion is the name of that file.
	Companion(shard string) string
}

// Preceded is a format that has something before each part that tells of it. It is read
// and compared with every part: a shard that was written again while a run goes on, or
// where the system does not note that, is not taken for what it was.
type Preceded interface {
	Format
	// Head is how many bytes there are before a part.
	Head() int64
	// Heads reports whether these bytes are before a part that has this name and size,
	// of a sample with this key. If it is not sure it returns false, and the shard is
	// scanned.
	Heads(head, key []byte, name string, size int64) bool
}

// Unpacker is a format of which ranges are compressed: the blocks that its scan has
// found. The parts of its samples are ranges of what comes out of them. Blocks that are
// [index.Stored] are read as they are, without Unpack, and in part where a part is
// shorter.
type Unpacker interface {
	Format
	// Unpack appends what a block holds, b.Size bytes, to dst. Another length is an
	// error, found before more memory than that is taken.
	Unpack(dst []byte, b index.Block, packed []byte) ([]byte, error)
}

// Referring is an Unpacker of which some blocks need another one: the pages of a column
// their dictionary.
type Referring interface {
	Unpacker
	// Refers tells whether a block needs the last Target before it, unpacked. That may
	// refer to another one, and no further.
	Refers(b index.Block) bool
	// Target tells whether blocks can refer to this one.
	Target(b index.Block) bool
	// UnpackWith is Unpack of a block that refers to another one.
	UnpackWith(dst []byte, b index.Block, packed, target []byte) ([]byte, error)
}

// Parser is a format whose samples are records, of which only the content tells what
// fields there are: its scan finds one part of each sample, whose name is "".
type Parser interface {
	Format
	// Schema returns the fields that a record has. The name of a field is what a user
	// writes, as "image/encoded".
	Schema(record []byte) (sample.Schema, error)
	// Parse sets into[i] to the value of want[i]. What it sets is in the record's memory
	// where it can be, and otherwise appended to scratch, which it returns.
	Parse(record []byte, want []sample.Field, into []Value, scratch []byte) ([]byte, error)
}

// Lenient is a Parser that gives a field as what a user says, if its values can be that,
// and whose records need not all have the same fields.
type Lenient interface {
	Parser
	// Seen is Schema, with what that has no place for.
	Seen(record []byte) ([]Seen, error)
	// Optional tells whether a field of this type has a value where there is none: NaN.
	Optional(t sample.Type) bool
	// Strictly returns a parser that converts nothing unless a user has said so.
	Strictly(r Reading) Parser
}

// Seen is a field that one record has.
type Seen struct {
	sample.Field
	Open    bool   // its value could be of any type: null, or an empty list
	Null    bool   // there is no value
	Source  bool   // its value becomes text as it is written, being neither text nor a number
	Refused string // why it is no field
}

// Reading is how records are read.
type Reading struct {
	As       []As   // of the fields that are wanted
	Nullable []bool // of these: without a value they are Null, which is no error
	All      bool   // another field is an error

	Replaces bool // U+FFFD for what is not UTF-8 in names; of values it is for those who read
}

// As is where the type of a field is from.
type As uint8

// Types are said by a user, to which values are converted; or of the first values, of
// which others have to be.
const (
	AsSaid As = iota
	AsFound
	AsSource // as [Seen] has it
)

// Headed is a Parser whose records are read by what their shard begins with, as the names
// of columns: the scan leaves that in [index.Builder.Header].
type Headed interface {
	// With returns the parser of a shard that has this header. An empty one is that of a
	// shard without samples.
	With(header []byte) (Parser, error)
}

// Value is that of one field of a sample.
type Value struct {
	Bytes []byte // text, content, or the elements of an array in native order; of lists of text parsers give a stream of package textlist
	Shape []int  // of an array whose type leaves extents open
	Null  bool   // there is none, of a field that is [Reading.Nullable]
}

// Opener is a kind of set: of shards that belong together, and of a file beside them that
// names them and says what is in them, as MDS and LitData have it.
type Opener interface {
	// Name is what recipes and messages call it, as "mds".
	Name() string
	// Suffixes are those of the files that describe sets, or their whole names, as
	// "index.json".
	Suffixes() []string
	// Begins tells from the first bytes of such a file whether the set is of this kind.
	Begins(head []byte) bool
	// Open reads the file. A set keeps nothing open.
	Open(ctx context.Context, f File) (Set, error)
}

// Set is the format of the shards that a file names. It has been read, so that a Set, not
// as other formats, has a state, which nothing changes.
type Set interface {
	// Shards are the names of the shards in their order, beside the file that names them:
	// paths with slashes, none of which is absolute or leads out of the folder.
	Shards() []string
	// Scan takes the shards by what their names end in.
	Format
}
