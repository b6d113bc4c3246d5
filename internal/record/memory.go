package record

import (
	"sync"

	"github.com/headrace/headrace/internal/byref"
	"github.com/headrace/headrace/internal/scratch"
)

// Memory gives records room for their values, and uses again what they give back. The
// zero value has Go's memory, and room for no values.
type Memory struct {
	Room   Room       // of a record
	Shared SharedHeap // with workers; nil: there are none

	Files  scratch.Pool // what sources read
	Images scratch.Pool // what operations make
	free   sync.Pool    // of *Values
}

// SharedHeap is memory that worker processes have mapped as well.
type SharedHeap interface {
	scratch.Memory
	Has(b []byte) bool

	// Keep keeps objects of the program until the piece that b begins is given back;
	// Kept returns them, counted once more.
	Keep(b []byte, all byref.List)
	Kept(b []byte) byref.List
}

// Share takes all memory from a heap that workers have mapped.
func (m *Memory) Share(with SharedHeap) {
	m.Shared, m.Files.From, m.Images.From = with, with, with
}

// Blank gives a record room for its values.
func (m *Memory) Blank(r *Record) *Values {
	v, _ := m.free.Get().(*Values)
	if v == nil {
		v = newValues(m.Room)
	}
	r.Values = v
	return v
}

// Drop gives back what a record holds. Dropping again does nothing.
func (m *Memory) Drop(r *Record) {
	r.Shut()
	if r.Values != nil {
		r.Values.Clear()
		m.free.Put(r.Values)
		r.Values = nil
	}
	r.Content.Release()
	r.Working.Release()
	r.Ticket.Leave()
	r.Kept.Leave()
}

// Settle gives back memory that no value is in any more, and the reservation for the file
// with the last of r.
func (m *Memory) Settle(r *Record) {
	if r.Values.Sweep(); !r.Values.borrowsFrom(&m.Files) {
		r.Content.Release()
	}
}

// ShareBytes returns the bytes in memory that workers have mapped.
func (m *Memory) ShareBytes(v *Values, b []byte) []byte {
	if len(b) == 0 || m.Shared.Has(b) {
		return b
	}
	own := *v.Borrow(&m.Images, len(b))
	copy(own, b)
	return own
}

// ShareImage returns the image in memory that workers have mapped, without gaps between
// its rows.
func (m *Memory) ShareImage(v *Values, p Image) Image {
	if p.Stride == p.Form().RowBytes() && m.Shared.Has(p.Data) {
		return p
	}
	own := v.NewImage(&m.Images, p.Form())
	p.CopyTo(own.Data)
	return own
}

// Adopt makes memory that a worker has filled the record's.
func (m *Memory) Adopt(v *Values, b []byte) {
	if m.Shared.Has(b) {
		v.Borrowed = append(v.Borrowed, borrowed{&b, &m.Images})
	}
}

// Copied returns a copy of the bytes, in memory that workers have mapped if there are
// any.
func (m *Memory) Copied(v *Values, b []byte) []byte {
	own := *v.Borrow(&m.Images, len(b))
	copy(own, b)
	if m.Shared != nil {
		m.Shared.Keep(own, m.Kept(b))
	}
	return own
}

// Kept returns the objects of the program that the bytes of a value stand for, counted
// once more: for a copy of the bytes.
func (m *Memory) Kept(b []byte) byref.List {
	if m.Shared == nil {
		return nil
	}
	return m.Shared.Kept(b)
}

// AdoptFile is Adopt for what a source gives: it counts as the record's file.
func (m *Memory) AdoptFile(v *Values, b []byte) {
	if m.Shared.Has(b) {
		v.Borrowed = append(v.Borrowed, borrowed{&b, &m.Files})
	}
}

// Copy gives a column a copy of the value of another one, which may be another record's.
func (m *Memory) Copy(to *Values, at Column, from *Values, of Column) {
	switch of.Kind {
	case Numbers:
		copy(to.Numbers[at.At:][:at.Size], from.Numbers[of.At:])
	case Texts:
		to.Texts[at.At] = from.Texts[of.At]
	case Bytes:
		to.Bytes[at.At] = m.Copied(to, from.Bytes[of.At])
	case Arrays:
		to.Arrays[at.At] = Array{from.Arrays[of.At].Shape, m.Copied(to, from.Arrays[of.At].Data)}
	case Images:
		p := from.Images[of.At]
		own := to.NewImage(&m.Images, p.Form())
		p.CopyTo(own.Data)
		to.Images[at.At] = own
	}
}

// Again gives another column of the record the value of one: in the same memory, which
// no step changes; or in a copy where there are workers, whose functions may.
func (m *Memory) Again(v *Values, from, to Column) {
	switch {
	case m.Shared != nil || from.Kind == Numbers || from.Kind == Texts:
		m.Copy(v, to, v, from)
	case from.Kind == Bytes:
		v.Bytes[to.At] = v.Bytes[from.At]
	case from.Kind == Arrays:
		v.Arrays[to.At] = v.Arrays[from.At]
	case from.Kind == Images:
		v.Images[to.At] = v.Images[from.At]
	}
}

// Own makes memory that Files has given a record's.
func (m *Memory) Own(v *Values, b *[]byte) {
	v.Borrowed = append(v.Borrowed, borrowed{b, &m.Files})
}
