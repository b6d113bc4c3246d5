package record

import (
	"maps"

	"github.com/headrace/headrace/sample"
)

// Column is the place of a field's value in [Values].
type Column struct {
	Kind Kind
	At   int // the first byte of a number; otherwise an index
	Size int // of a number, in bytes
}

// Kind says in which list of [Values] a column is. The zero Kind is none.
type Kind uint8

// The kinds of columns.
const (
	Numbers Kind = iota + 1 // scalars, and arrays of a fixed shape that Go operations make
	Texts                   // strings
	Bytes                   // encoded files, and objects
	Images                  // arrays with axes
	Arrays                  // all others
)

// Columns are those of the fields on one edge of a recipe. They change from step to step
// while it is compiled.
type Columns struct {
	Of    map[string]Column
	Fresh []string // fields that got values since bytes were reserved last
	Rows  bool     // samples are batches there
	*Table
}

// Table has the columns of the whole recipe. A column depends only on the field's name
// and type, so a field that comes from several sides of a merge or route has the same
// column on all.
type Table struct {
	Room  Room
	known map[columnKey]Column
}

type columnKey struct {
	name string
	kind Kind
	size int
}

// Room is how many values of each kind a record has; of numbers, how many bytes.
type Room struct{ Numbers, Texts, Bytes, Images, Arrays int }

// PutArray gives a field a column for an array that stays in memory which exists already.
func (p *Columns) PutArray(name string) Column {
	after := p.Room
	after.Arrays++
	return p.give(name, Column{Kind: Arrays, At: p.Room.Arrays}, after)
}

// NewTable returns an empty table.
func NewTable() *Table { return &Table{known: map[columnKey]Column{}} }

// PutAny gives a field a column for a value that may come in memory of any kind: all but
// scalars have memory of their own.
func (p *Columns) PutAny(name string, t sample.Type) Column {
	if t.Kind == sample.Tensor && t.Axes == "" && len(t.Shape) > 0 {
		return p.PutArray(name)
	}
	return p.Put(name, t)
}

// Branch returns a copy for another branch of the recipe.
func (p Columns) Branch() Columns { return Columns{Of: maps.Clone(p.Of), Rows: p.Rows, Table: p.Table} }

// Put gives a field a column: the one that it has had before, if its type is the same.
func (p *Columns) Put(name string, t sample.Type) Column {
	next := Column{Kind: Numbers, At: p.Room.Numbers}
	after := p.Room
	switch {
	case t.Axes != "":
		next = Column{Kind: Images, At: p.Room.Images}
		after.Images++
	case t.Kind == sample.Text:
		next = Column{Kind: Texts, At: p.Room.Texts}
		after.Texts++
	case t.Kind == sample.Bytes || t.Kind == sample.Object:
		next = Column{Kind: Bytes, At: p.Room.Bytes}
		after.Bytes++
	default:
		n, _ := t.Shape.Bytes(t.DType) // a shape that a Go type has
		next.Size = int(n)
		after.Numbers += next.Size
	}
	return p.give(name, next, after)
}

// PutLike gives a field a column for what has been in another one.
func (p *Columns) PutLike(name string, at Column) Column {
	next, after := at, p.Room
	room := map[Kind]*int{Texts: &after.Texts, Bytes: &after.Bytes, Images: &after.Images, Arrays: &after.Arrays}[at.Kind]
	if at.Kind == Numbers {
		next.At, after.Numbers = after.Numbers, after.Numbers+at.Size
	} else {
		next.At = *room
		*room++
	}
	return p.give(name, next, after)
}

func (p *Columns) give(name string, next Column, after Room) Column {
	p.Fresh = append(p.Fresh, name)
	h := columnKey{name, next.Kind, next.Size}
	if known, ok := p.Table.known[h]; ok {
		next = known
	} else {
		p.Table.known[h], p.Room = next, after
	}
	p.Of[name] = next
	return next
}

// Take removes a field and returns the column that it had.
func (p *Columns) Take(name string) Column {
	at := p.Of[name]
	delete(p.Of, name)
	return at
}
