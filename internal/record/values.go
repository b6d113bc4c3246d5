package record

import (
	"slices"
	"unsafe"

	"github.com/headrace/headrace/internal/scratch"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/tensor"
)

// Values are what a sample consists of, each at its [Column].
type Values struct {
	Numbers  []byte
	Texts    []string
	Bytes    [][]byte
	Images   []Image
	Arrays   []Array
	Borrowed []borrowed
}

// borrowed is memory from a pool, in which values may be.
type borrowed struct {
	memory *[]byte
	from   *scratch.Pool
}

// Image is an image in memory: as media.Pixels are, or as normalize and layout have left
// it. Of clips, Pixels is the first frame, and the others follow without gaps.
type Image struct {
	media.Pixels
	Layout        media.Layout
	Frames, Clips int // 0: it is an image
}

// Array is a contiguous array of any shape.
type Array struct {
	Shape tensor.Shape
	Data  []byte
}

// Form is that of the pixels, with their layout.
func (p Image) Form() media.Form {
	f := p.Pixels.Form()
	f.Layout, f.Frames, f.Clips = p.Layout, p.Frames, p.Clips
	return f
}

// Frame returns frame i of all clips, in the layouts in which a frame is in one piece.
func (p Image) Frame(i int) media.Pixels {
	p.Data = p.Data[i*int(p.Form().Picture().Bytes()):]
	return p.Pixels
}

// CopyTo copies the image to memory that has its size.
func (p Image) CopyTo(dst []byte) {
	f := p.Form()
	if p.Stride == f.RowBytes() {
		copy(dst, p.Data[:f.Bytes()])
		return
	}
	rows := p.Height
	if f.Layout != media.HWC {
		rows *= f.Color.Channels()
	}
	for y := range rows {
		copy(dst[y*f.RowBytes():], p.Data[y*p.Stride:][:f.RowBytes()])
	}
}

// StoredBytes returns the memory that an image of this form takes.
func StoredBytes(f media.Form) int64 { return f.Bytes() + media.Slack }

// newValues returns empty values for which there is this much room.
func newValues(n Room) *Values {
	return &Values{
		Numbers: make([]byte, n.Numbers),
		Texts:   make([]string, n.Texts),
		Bytes:   make([][]byte, n.Bytes),
		Images:  make([]Image, n.Images),
		Arrays:  make([]Array, n.Arrays),
	}
}

// Borrow takes memory for a value from a pool.
func (v *Values) Borrow(from *scratch.Pool, n int) *[]byte {
	memory := from.Take(n)
	v.Borrowed = append(v.Borrowed, borrowed{memory, from})
	return memory
}

// NewImage borrows memory for an image.
func (v *Values) NewImage(from *scratch.Pool, f media.Form) Image {
	memory := v.Borrow(from, int(StoredBytes(f)))
	pixels := media.Pixels{
		Data: *memory, Stride: f.RowBytes(), Width: f.Width, Height: f.Height,
		Color: f.Color, DType: f.DType,
	}
	return Image{pixels, f.Layout, f.Frames, f.Clips}
}

// Data returns the elements of an array, which is in memory of its own, or, if its type
// says its size, among the numbers.
func (v *Values) Data(at Column) []byte {
	if at.Kind == Numbers {
		return v.Numbers[at.At:][:at.Size]
	}
	return v.Arrays[at.At].Data
}

// Forget clears the value of a column.
func (v *Values) Forget(p Column) {
	switch p.Kind {
	case Texts:
		v.Texts[p.At] = "" // keys must not keep a table of paths alive
	case Bytes:
		v.Bytes[p.At] = nil
	case Images:
		v.Images[p.At] = Image{}
	case Arrays:
		v.Arrays[p.At] = Array{}
	}
}

// Swap exchanges the values of two columns of one kind and size.
func (v *Values) Swap(a, b Column) {
	switch a.Kind {
	case Numbers:
		for i := range a.Size {
			v.Numbers[a.At+i], v.Numbers[b.At+i] = v.Numbers[b.At+i], v.Numbers[a.At+i]
		}
	case Texts:
		v.Texts[a.At], v.Texts[b.At] = v.Texts[b.At], v.Texts[a.At]
	case Bytes:
		v.Bytes[a.At], v.Bytes[b.At] = v.Bytes[b.At], v.Bytes[a.At]
	case Images:
		v.Images[a.At], v.Images[b.At] = v.Images[b.At], v.Images[a.At]
	case Arrays:
		v.Arrays[a.At], v.Arrays[b.At] = v.Arrays[b.At], v.Arrays[a.At]
	}
}

// Clear clears all values.
func (v *Values) Clear() {
	clear(v.Texts)
	clear(v.Bytes)
	clear(v.Images)
	clear(v.Arrays)
	v.Sweep()
}

// Sweep gives back the borrowed memory that no value is in.
func (v *Values) Sweep() {
	kept := v.Borrowed[:0]
	for _, l := range v.Borrowed {
		if v.shared(*l.memory) {
			kept = append(kept, l)
		} else {
			l.from.Give(l.memory)
		}
	}
	clear(v.Borrowed[len(kept):])
	v.Borrowed = kept
}

// borrowsFrom reports whether there is memory from this pool.
func (v *Values) borrowsFrom(from *scratch.Pool) bool {
	return slices.ContainsFunc(v.Borrowed, func(l borrowed) bool { return l.from == from })
}

// shared reports whether a value is in this memory, or in a part of it.
func (v *Values) shared(memory []byte) bool {
	for _, b := range v.Bytes {
		if Overlap(memory, b) {
			return true
		}
	}
	for i := range v.Images {
		if Overlap(memory, v.Images[i].Data) {
			return true
		}
	}
	for i := range v.Arrays {
		if Overlap(memory, v.Arrays[i].Data) {
			return true
		}
	}
	return false
}

// OwnBytes returns b, or a copy if another value is in the same memory.
func (v *Values) OwnBytes(b []byte) []byte {
	if v.shared(b) {
		return slices.Clone(b)
	}
	return slices.Clip(b)
}

// OwnImage returns an image that no other value is in.
func (v *Values) OwnImage(from *scratch.Pool, p Image) Image {
	if !v.shared(p.Data) {
		return p
	}
	own := v.NewImage(from, p.Form())
	p.CopyTo(own.Data)
	return own
}

// Overlap tells whether two pieces of memory have a byte in common.
func Overlap(a, b []byte) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	p, q := uintptr(unsafe.Pointer(unsafe.SliceData(a))), uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return p < q+uintptr(len(b)) && q < p+uintptr(len(a))
}

// Held is how many bytes the sample has in memory.
func (v *Values) Held() (n int64) {
	for _, l := range v.Borrowed {
		n += int64(len(*l.memory))
	}
	foreign := func(b []byte) {
		for _, l := range v.Borrowed {
			if Overlap(*l.memory, b) {
				return
			}
		}
		n += int64(len(b))
	}
	for _, b := range v.Bytes {
		foreign(b)
	}
	for i := range v.Images {
		foreign(v.Images[i].Data)
	}
	for i := range v.Arrays {
		foreign(v.Arrays[i].Data)
	}
	return n
}
