package parquet

import (
	"encoding/base64"
	"encoding/binary"
	"errors"

	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/arrowipc"
	"github.com/headrace/headrace/shard/internal/window"
)

// Fields of the union LogicalType.
const (
	logicalString   = 1
	logicalMap      = 2
	logicalList     = 3
	logicalEnum     = 4
	logicalDecimal  = 5
	logicalDate     = 6
	logicalTime     = 7
	logicalStamp    = 8
	logicalInteger  = 10
	logicalJSON     = 12
	logicalFloat16  = 15
	convertedText   = 0
	convertedMap    = 1
	convertedList   = 3
	convertedEnum   = 4
	convertedDec    = 5
	convertedDate   = 6
	convertedTimeMs = 7
	convertedTimeUs = 8
	convertedMs     = 9
	convertedUs     = 10
	convertedUint8  = 11
	convertedUint16 = 12
	convertedUint32 = 13
	convertedUint64 = 14
	convertedInt8   = 15
	convertedInt16  = 16
	convertedJSON   = 19
)

// Types of columns as they are stored.
const (
	typeBoolean = iota
	typeInt32
	typeInt64
	typeInt96
	typeFloat
	typeDouble
	typeBytes
	typeFixed
)

// Repetitions.
const (
	required = iota
	optional
	repeated
)

// footer is what a file says of itself.
type footer struct {
	at     int64 // where it begins: columns are before
	schema []element
	rows   int64
	groups []group
	arrow  string // the schema that Arrow has written, in base 64
}

// element is a node of the schema; nodes are in the order of a walk from the root.
type element struct {
	kind       int // of a leaf; -1: a node with children
	length     int // of a typeFixed
	repetition int
	name       string
	children   int
	converted  int // -1: none
	logical    int // the field of the union LogicalType; 0: none
	bits       int // of a logical integer
	signed     bool
	scale      int // of a decimal
	digits     int
	unit       string // of times: "ms", "us" or "ns"
	utc        bool
}

type group struct {
	chunks []chunk
	rows   int64
}

// chunk is the values of one column in one row group.
type chunk struct {
	elsewhere string // the file it is in, if that is another one
	encrypted bool
	known     bool // it has metadata
	codec     int
	values    int64
	packed    int64 // bytes of all pages with their headers
	data      int64 // where its first data page is
	dict      int64 // where its dictionary is; 0: nothing is said
	bounds    bounds
}

const magic = "PAR1"

// tail is what a file ends with: the size of the footer and the magic.
const tail = 8

func readFooter(f shard.File) (*footer, error) {
	size := f.Size()
	if size < int64(len(magic))+tail {
		return nil, shard.Wrong(f, size, shard.ErrTruncated, "a Parquet file has at least 12 bytes, this one has %d", size)
	}
	w := window.New(f)
	end, err := w.At(size-tail, tail)
	if err != nil {
		return nil, err
	}
	switch string(end[4:]) {
	case magic:
	case "PARE":
		return nil, shard.Wrong(f, size-4, shard.ErrUnsupported, "the footer is encrypted")
	default:
		return nil, shard.Wrong(f, size-4, shard.ErrTruncated, "a Parquet file ends with %q, this one with %q", magic, end[4:])
	}

	n := int64(binary.LittleEndian.Uint32(end))
	if n > size-tail-int64(len(magic)) {
		return nil, shard.Wrong(f, size-tail, shard.ErrCorrupt, "the footer of %d bytes is longer than the file", n)
	}
	b, err := w.At(size-tail-n, int(n))
	if err != nil {
		return nil, err
	}
	m := &footer{at: size - tail - n}
	t := thrift{b: b}
	m.read(&t)
	if t.err != nil {
		return nil, shard.Wrong(f, m.at, shard.ErrCorrupt, "footer: %v", t.err)
	}
	return m, nil
}

func (m *footer) read(t *thrift) {
	t.fields(func(id int16, kind byte) {
		switch id {
		case 2:
			t.list(func(byte) { m.schema = appendTo(t, m.schema, readElement(t)) })
		case 3:
			m.rows = t.int()
		case 4:
			t.list(func(byte) { m.groups = appendTo(t, m.groups, readGroup(t)) })
		case 5:
			t.list(func(byte) {
				if key, value := readPair(t); key == "ARROW:schema" {
					m.arrow = value
				}
			})
		default:
			t.skip(kind)
		}
	})
}

func readPair(t *thrift) (key, value string) {
	t.fields(func(id int16, kind byte) {
		switch id {
		case 1:
			key = string(t.bytes())
		case 2:
			value = string(t.bytes())
		default:
			t.skip(kind)
		}
	})
	return key, value
}

// said returns the facts that only the schema of Arrow has, by the names of columns.
func (m *footer) said() map[string]arrowipc.Said {
	b, err := base64.StdEncoding.DecodeString(m.arrow)
	if err != nil {
		return nil
	}
	return arrowipc.Schema(b)
}

// appendTo appends what has four bytes of the footer at least, so that a footer of zeros
// does not become a hundred times its size.
func appendTo[T any](t *thrift, all []T, one T) []T {
	if len(all) > len(t.b)/4 {
		t.fail(errBad)
	}
	return append(all, one)
}

func readElement(t *thrift) element {
	e := element{kind: -1, converted: -1}
	t.fields(func(id int16, kind byte) {
		switch id {
		case 1:
			e.kind = int(t.int())
		case 2:
			e.length = int(int32(t.int()))
		case 3:
			e.repetition = int(t.int())
		case 4:
			e.name = string(t.bytes())
		case 5:
			e.children = int(int32(t.int()))
		case 6:
			e.converted = int(t.int())
		case 7:
			e.scale = int(int32(t.int()))
		case 8:
			e.digits = int(int32(t.int()))
		case 10:
			t.fields(func(id int16, kind byte) {
				e.logical = int(id)
				e.readLogical(t, kind)
			})
		default:
			t.skip(kind)
		}
	})
	return e
}

// readLogical reads the union LogicalType.
func (e *element) readLogical(t *thrift, kind byte) {
	switch e.logical {
	case logicalInteger:
		t.fields(func(id int16, kind byte) {
			switch id {
			case 1:
				e.bits = int(t.byte())
			case 2:
				e.signed = kind == thriftTrue
			default:
				t.skip(kind)
			}
		})
	case logicalDecimal:
		t.fields(func(id int16, kind byte) {
			switch id {
			case 1:
				e.scale = int(int32(t.int()))
			case 2:
				e.digits = int(int32(t.int()))
			default:
				t.skip(kind)
			}
		})
	case logicalTime, logicalStamp:
		t.fields(func(id int16, kind byte) {
			switch id {
			case 1:
				e.utc = kind == thriftTrue
			case 2:
				t.fields(func(id int16, kind byte) {
					if id >= 1 && id <= 3 {
						e.unit = [...]string{"ms", "us", "ns"}[id-1]
					}
					t.skip(kind)
				})
			default:
				t.skip(kind)
			}
		})
	default:
		t.skip(kind)
	}
}

func readGroup(t *thrift) (g group) {
	t.fields(func(id int16, kind byte) {
		switch id {
		case 1:
			t.list(func(byte) { g.chunks = appendTo(t, g.chunks, readChunk(t)) })
		case 3:
			g.rows = t.int()
		default:
			t.skip(kind)
		}
	})
	return g
}

func readChunk(t *thrift) (c chunk) {
	t.fields(func(id int16, kind byte) {
		switch id {
		case 1:
			c.elsewhere = string(t.bytes())
		case 3:
			c.known = true
			c.readMetadata(t)
		case 8, 9:
			c.encrypted = true
			t.skip(kind)
		default:
			t.skip(kind)
		}
	})
	return c
}

func (c *chunk) readMetadata(t *thrift) {
	t.fields(func(id int16, kind byte) {
		switch id {
		case 4:
			c.codec = int(t.int())
		case 5:
			c.values = t.int()
		case 7:
			c.packed = t.int()
		case 9:
			c.data = t.int()
		case 11:
			c.dict = t.int()
		case 12:
			c.bounds.read(t)
		default:
			t.skip(kind)
		}
	})
}

// bounds are the statistics of a chunk: values that are at most its least and at least
// its greatest, which may be cut off. nil: nothing is said. The older ones, of which the
// order depends on the writer, are not read.
type bounds struct {
	least, most []byte
}

func (b *bounds) read(t *thrift) {
	t.fields(func(id int16, kind byte) {
		switch id {
		case 5:
			b.most = t.bytes()
		case 6:
			b.least = t.bytes()
		default:
			t.skip(kind)
		}
	})
}

// pageHeader is what is before each page.
type pageHeader struct {
	kind     int
	unpacked int64
	packed   int64
	crc      uint32
	checked  bool // it has a crc
	values   int64
	encoding int
	levels   int // how definition levels are packed, of the first kind of pages

	// of the second kind
	definition int64 // bytes of levels
	repetition int64
	plain      bool // not compressed whatever the column's codec
}

// Kinds of pages.
const (
	pageData = iota
	pageIndex
	pageDictionary
	pageData2
)

// readHeader reads a page's header and returns how long it is.
func readHeader(b []byte) (h pageHeader, n int, err error) {
	t := thrift{b: b}
	t.fields(func(id int16, kind byte) {
		switch id {
		case 1:
			h.kind = int(t.int())
		case 2:
			h.unpacked = t.int()
		case 3:
			h.packed = t.int()
		case 4:
			h.crc, h.checked = uint32(t.int()), true
		case 5, 7:
			h.readData(&t)
		case 8:
			h.readData2(&t)
		default:
			t.skip(kind)
		}
	})
	if t.err == nil && min(h.unpacked, h.packed, h.values, h.definition, h.repetition) < 0 {
		t.err = errors.New("a page of negative size")
	}
	return h, t.at, t.err
}

// readData reads what is said of data pages and dictionaries, whose first fields are the
// same.
func (h *pageHeader) readData(t *thrift) {
	t.fields(func(id int16, kind byte) {
		switch {
		case id == 1:
			h.values = t.int()
		case id == 2:
			h.encoding = int(t.int())
		case id == 3 && kind > thriftFalse:
			h.levels = int(t.int())
		default:
			t.skip(kind)
		}
	})
}

func (h *pageHeader) readData2(t *thrift) {
	t.fields(func(id int16, kind byte) {
		switch id {
		case 1:
			h.values = t.int()
		case 4:
			h.encoding = int(t.int())
		case 5:
			h.definition = t.int()
		case 6:
			h.repetition = t.int()
		case 7:
			h.plain = kind == thriftFalse
		default:
			t.skip(kind)
		}
	})
}
