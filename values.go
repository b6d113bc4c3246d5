package headrace

import (
	"maps"
	"slices"
	"unsafe"

	"headrace/internal/scratch"
	"headrace/media"
	"headrace/sample"
	"headrace/tensor"
)

// place says where samples keep the values of a field.
type place struct {
	in   shelf
	at   int // the first byte of numbers; else which one
	size int // bytes of numbers
}

// shelf is one of the lists of values.
type shelf uint8

const (
	numbers  shelf = iota + 1 // and arrays that operations of programs have as Go's
	texts                     //
	data                      // bytes, and objects
	pictures                  // arrays with axes
	arrays                    // all others
)

// places are those of the fields on one edge of a recipe. They are made while it is compiled, along its steps.
type places struct {
	of    map[string]place
	fresh []string // fields that were given values since bytes were reserved last
	*homes
}

// homes are the places of the whole recipe. A field that comes from several ways, as behind a merge or a route, has the same place on all of them,
// for its place depends on its name and type alone.
type homes struct {
	room shelves
	of   map[home]place
}

type home struct {
	name string
	in   shelf
	size int
}

// shelves is how many values there are.
type shelves struct{ numbers, texts, data, pictures, arrays int }

// putArray gives a field a place for an array that lies in memory which was there already.
func (p *places) putArray(name string) place {
	after := p.room
	after.arrays++
	return p.give(name, place{in: arrays, at: p.room.arrays}, after)
}

func newHomes() *homes { return &homes{of: map[home]place{}} }

// putAny gives a field a place for a value that may come in memory of any kind: all but single numbers have memory of their own.
func (p *places) putAny(name string, t sample.Type) place {
	if t.Kind == sample.Tensor && t.Axes == "" && len(t.Shape) > 0 {
		return p.putArray(name)
	}
	return p.put(name, t)
}

// branch is a copy to go on with in another way.
func (p places) branch() places { return places{maps.Clone(p.of), nil, p.homes} }

// put gives a field a place: its own where it has one that fits.
func (p *places) put(name string, t sample.Type) place {
	next := place{in: numbers, at: p.room.numbers}
	after := p.room
	switch {
	case t.Axes != "":
		next = place{in: pictures, at: p.room.pictures}
		after.pictures++
	case t.Kind == sample.Text:
		next = place{in: texts, at: p.room.texts}
		after.texts++
	case t.Kind == sample.Bytes || t.Kind == sample.Object:
		next = place{in: data, at: p.room.data}
		after.data++
	default:
		n, _ := t.Shape.Bytes(t.DType) // a shape that a Go type has
		next.size = int(n)
		after.numbers += next.size
	}
	return p.give(name, next, after)
}

func (p *places) give(name string, next place, after shelves) place {
	p.fresh = append(p.fresh, name)
	h := home{name, next.in, next.size}
	if known, ok := p.homes.of[h]; ok {
		next = known
	} else {
		p.homes.of[h], p.room = next, after
	}
	p.of[name] = next
	return next
}

// take ends a field.
func (p *places) take(name string) place {
	at := p.of[name]
	delete(p.of, name)
	return at
}

// values are what a sample consists of on its way, each at its place.
type values struct {
	numbers  []byte
	texts    []string
	data     [][]byte
	pictures []picture
	arrays   []array
	loans    []loan
}

// loan is memory that is used again, in which data and pictures may lie.
type loan struct {
	memory *[]byte
	from   *scratch.Pool
}

// picture is an image in memory: as media.Pixels are, or as normalize and layout left it.
type picture struct {
	media.Pixels
	layout media.Layout
}

// array is one of any shape, contiguous.
type array struct {
	shape tensor.Shape
	data  []byte
}

func (p picture) form() media.Form {
	f := p.Pixels.Form()
	f.Layout = p.layout
	return f
}

// copyTo copies the picture to memory that has its size.
func (p picture) copyTo(dst []byte) {
	f, rows := p.form(), p.Height
	if f.Layout == media.CHW {
		rows *= f.Color.Channels()
	}
	for y := range rows {
		copy(dst[y*f.RowBytes():], p.Data[y*p.Stride:][:f.RowBytes()])
	}
}

// storedBytes is the size of a stored picture.
func storedBytes(f media.Form) int64 {
	n := int64(f.RowBytes()) * int64(f.Height)
	if f.Layout == media.CHW {
		n *= int64(f.Color.Channels())
	}
	return n + media.Slack
}

// newValues makes room for as many values.
func newValues(n shelves) *values {
	return &values{make([]byte, n.numbers), make([]string, n.texts), make([][]byte, n.data), make([]picture, n.pictures), make([]array, n.arrays), nil}
}

// borrow takes memory for the sample.
func (v *values) borrow(from *scratch.Pool, n int) *[]byte {
	memory := from.Take(n)
	v.loans = append(v.loans, loan{memory, from})
	return memory
}

// room borrows memory for a picture.
func (v *values) room(from *scratch.Pool, f media.Form) picture {
	memory := v.borrow(from, int(storedBytes(f)))
	return picture{media.Pixels{Data: *memory, Stride: f.RowBytes(), Width: f.Width, Height: f.Height, Color: f.Color, DType: f.DType}, f.Layout}
}

// forget lets go of what stands at a place.
func (v *values) forget(p place) {
	switch p.in {
	case texts:
		v.texts[p.at] = "" // keys must not keep a table of paths alive
	case data:
		v.data[p.at] = nil
	case pictures:
		v.pictures[p.at] = picture{}
	case arrays:
		v.arrays[p.at] = array{}
	}
}

// clear lets go of everything.
func (v *values) clear() {
	clear(v.texts)
	clear(v.data)
	clear(v.pictures)
	clear(v.arrays)
	v.sweep()
}

// sweep gives back the memory in which no value lies any more.
func (v *values) sweep() {
	kept := v.loans[:0]
	for _, l := range v.loans {
		if v.shared(*l.memory) {
			kept = append(kept, l)
		} else {
			l.from.Give(l.memory)
		}
	}
	clear(v.loans[len(kept):])
	v.loans = kept
}

// borrows tells whether there is memory from this pool.
func (v *values) borrows(from *scratch.Pool) bool {
	return slices.ContainsFunc(v.loans, func(l loan) bool { return l.from == from })
}

// shared tells whether a value lies in this memory, or in a part of it.
func (v *values) shared(memory []byte) bool {
	for _, b := range v.data {
		if overlap(memory, b) {
			return true
		}
	}
	for i := range v.pictures {
		if overlap(memory, v.pictures[i].Data) {
			return true
		}
	}
	for i := range v.arrays {
		if overlap(memory, v.arrays[i].data) {
			return true
		}
	}
	return false
}

// ownBytes returns bytes that no other value lies in.
func (v *values) ownBytes(b []byte) []byte {
	if v.shared(b) {
		return slices.Clone(b)
	}
	return slices.Clip(b)
}

// ownPicture returns a picture that no other value lies in.
func (v *values) ownPicture(from *scratch.Pool, p picture) picture {
	if !v.shared(p.Data) {
		return p
	}
	own := v.room(from, p.form())
	p.copyTo(own.Data)
	return own
}

// overlap tells whether two pieces of memory have a byte in common.
func overlap(a, b []byte) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	p, q := uintptr(unsafe.Pointer(unsafe.SliceData(a))), uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return p < q+uintptr(len(b)) && q < p+uintptr(len(a))
}

// held is how many bytes the sample has in memory.
func (v *values) held() (n int64) {
	for _, l := range v.loans {
		n += int64(len(*l.memory))
	}
	foreign := func(b []byte) {
		for _, l := range v.loans {
			if overlap(*l.memory, b) {
				return
			}
		}
		n += int64(len(b))
	}
	for _, b := range v.data {
		foreign(b)
	}
	for i := range v.pictures {
		foreign(v.pictures[i].Data)
	}
	for i := range v.arrays {
		foreign(v.arrays[i].data)
	}
	return n
}
