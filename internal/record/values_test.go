package record

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/internal/byref"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// heap is memory that knows what is taken of it. What is given back is spoilt, so that a
// value that is still in it shows.
type heap struct{ live [][]byte }

func (h *heap) Take(n int) []byte {
	b := make([]byte, n, max(n, 1))
	h.live = append(h.live, b)
	return b
}

func (h *heap) Give(b []byte) {
	i := slices.IndexFunc(h.live, func(c []byte) bool { return cap(c) > 0 && &b[:1][0] == &c[:1][0] })
	if i < 0 {
		panic("memory is given back that is not taken")
	}
	for k := range b {
		b[k] = 0xdb
	}
	h.live = slices.Delete(h.live, i, i+1)
}

func (h *heap) Keep([]byte, byref.List) {}

func (h *heap) Kept([]byte) byref.List { return nil }

func (h *heap) Has(b []byte) bool {
	return slices.ContainsFunc(h.live, func(c []byte) bool { return Overlap(b, c) })
}

// modelValues is a record with what each of its columns is to hold.
type modelValues struct {
	*rapid.T
	heap    *heap
	memory  *Memory
	record  Record
	columns []Column
	want    map[Column]string
}

func newModelValues(t *rapid.T, shared bool) *modelValues {
	table := Columns{Of: map[string]Column{}, Table: NewTable()}
	image := sample.TensorType(tensor.Uint8, tensor.Unknown, tensor.Unknown, 3)
	image.Axes = "HWC"
	m := &modelValues{T: t, heap: &heap{}, memory: &Memory{}, want: map[Column]string{}}
	for _, name := range []string{"a", "b"} {
		for _, typ := range []sample.Type{sample.TextType, sample.BytesType, image, sample.TensorType(tensor.Int32)} {
			m.columns = append(m.columns, table.Put(name, typ))
		}
		m.columns = append(m.columns, table.PutArray(name))
	}
	if m.memory.Share(m.heap); !shared {
		m.memory.Shared = nil
	}
	m.memory.Room = table.Room
	m.memory.Blank(&m.record)
	for _, at := range m.columns {
		m.want[at] = m.got(at)
	}
	return m
}

// got is what a column holds.
func (m *modelValues) got(at Column) string {
	switch v := m.record.Values; at.Kind {
	case Texts:
		return v.Texts[at.At]
	case Numbers:
		return string(v.Numbers[at.At:][:at.Size])
	case Images:
		p := v.Images[at.At]
		b := make([]byte, p.Form().Bytes())
		p.CopyTo(b)
		return string(b)
	}
	return string(m.data(at))
}

// data is the memory that a column's value is in.
func (m *modelValues) data(at Column) []byte {
	switch v := m.record.Values; at.Kind {
	case Bytes:
		return v.Bytes[at.At]
	case Arrays:
		return v.Arrays[at.At].Data
	case Images:
		return v.Images[at.At].Data
	}
	return nil
}

// put gives a column a value of its own, or a part of one that another column has.
func (m *modelValues) put(at Column) {
	v := m.record.Values
	text := rapid.SliceOfN(rapid.Byte(), 1, 24).Draw(m.T, "value")
	fill := func(memory *[]byte) []byte { copy(*memory, text); return *memory }
	switch at.Kind {
	case Texts:
		v.Texts[at.At] = string(text)
	case Bytes:
		v.Bytes[at.At] = fill(v.Borrow(&m.memory.Files, len(text)))
	case Arrays:
		if of := m.columns[1]; rapid.Bool().Draw(m.T, "a part") && len(v.Bytes[of.At]) > 2 { // of the file
			text = v.Bytes[of.At][1 : len(v.Bytes[of.At])-1]
			v.Arrays[at.At] = Array{tensor.Shape{len(text)}, text}
		} else {
			v.Arrays[at.At] = Array{tensor.Shape{len(text)}, fill(v.Borrow(&m.memory.Images, len(text)))}
		}
	case Images:
		p := v.NewImage(&m.memory.Images, media.Form{Height: 2, Width: 2, Color: media.RGB, DType: tensor.Uint8})
		text = bytes.Repeat(text, 12)[:12]
		copy(p.Data, text)
		if rapid.Bool().Draw(m.T, "with gaps") {
			p.Data, p.Stride = *v.Borrow(&m.memory.Images, 14), 8
			copy(p.Data, slices.Concat(text[:6], []byte("--"), text[6:]))
		}
		v.Images[at.At] = p
	default:
		copy(v.Numbers[at.At:][:at.Size], text)
		m.want[at] = m.got(at)
		return
	}
	m.want[at] = string(text)
}

// apart wants two values to have no memory in common.
func (m *modelValues) apart(a, b Column) {
	if Overlap(m.data(a), m.data(b)) {
		m.Fatalf("%+v and %+v are in the same memory", a, b)
	}
}

// like draws two columns of one kind.
func (m *modelValues) like() (a, b Column) {
	i := rapid.IntRange(0, 4).Draw(m.T, "kind")
	if rapid.Bool().Draw(m.T, "the other way round") {
		return m.columns[i+5], m.columns[i]
	}
	return m.columns[i], m.columns[i+5]
}

// Values stay what they are while memory comes and goes, whether workers share it or
// not; and memory that no value is in goes back.
func TestValuesKeepTheirMemory(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		shared := rapid.Bool().Draw(rt, "shared")
		m := newModelValues(rt, shared)
		for range 40 {
			a, b := m.like()
			v := m.record.Values
			switch step := rapid.SampledFrom([]string{"put", "put", "copy", "again", "swap", "forget", "settle"}).Draw(rt, "step"); step {
			case "put":
				m.put(a)
			case "copy":
				m.memory.Copy(v, a, v, b)
				m.want[a] = m.want[b]
				m.apart(a, b)
			case "again":
				m.memory.Again(v, b, a)
				if m.want[a] = m.want[b]; shared { // functions may change it
					m.apart(a, b)
				} else if a.Kind == Images && rapid.Bool().Draw(rt, "own") {
					v.Images[a.At] = v.OwnImage(&m.memory.Images, v.Images[a.At])
					m.apart(a, b)
				}
			case "swap":
				v.Swap(a, b)
				m.want[a], m.want[b] = m.want[b], m.want[a]
			case "forget":
				if v.Forget(a); a.Kind != Numbers {
					m.want[a] = ""
				}
			case "settle":
				m.memory.Settle(&m.record)
				for _, l := range m.heap.live {
					if len(l) > 0 && !v.shared(l) {
						rt.Fatal("memory is held that no value is in")
					}
				}
			}
			for _, at := range m.columns {
				if got := m.got(at); got != m.want[at] {
					rt.Fatalf("%+v is %q, not %q", at, got, m.want[at])
				}
			}
		}
		held := int64(0)
		for _, l := range m.heap.live {
			held += int64(len(l))
		}
		if got := m.record.Values.Held(); got < held {
			rt.Fatalf("%d bytes are held, and %d counted", held, got)
		}
		m.memory.Drop(&m.record)
		m.memory.Drop(&m.record)
		if len(m.heap.live) > 0 || m.record.Values != nil {
			rt.Fatalf("%d pieces of memory stay", len(m.heap.live))
		}
		if m.memory.Blank(&m.record); slices.ContainsFunc(m.record.Values.Texts, func(s string) bool { return s != "" }) {
			rt.Fatal("a blank record has values")
		}
	})
}

// What goes to workers is in memory that they have, without gaps, and is copied only if
// it was not.
func TestSharedValues(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := newModelValues(rt, true)
		v := m.record.Values
		own := []byte("own")
		if b := m.memory.ShareBytes(v, own); !m.heap.Has(b) || string(b) != "own" || Overlap(b, own) {
			rt.Fatalf("%q", b)
		} else if again := m.memory.ShareBytes(v, b); !Overlap(again, b) || len(m.memory.ShareBytes(v, nil)) > 0 {
			rt.Fatal("what is shared is copied again")
		}
		m.put(m.columns[2])
		p := v.Images[m.columns[2].At]
		q := m.memory.ShareImage(v, p)
		if v.Images[m.columns[2].At] = q; m.got(m.columns[2]) != m.want[m.columns[2]] || q.Stride != 6 ||
			!m.heap.Has(q.Data) || p.Stride == 6 && !Overlap(p.Data, q.Data) {
			rt.Fatalf("%+v becomes %+v", p, q)
		}

		// What a worker has filled is the record's from then on.
		theirs := m.heap.Take(7)
		m.memory.Adopt(v, theirs)
		m.memory.AdoptFile(v, own)
		v.Bytes[m.columns[1].At] = theirs[2:5]
		if m.memory.Settle(&m.record); !m.heap.Has(theirs) {
			rt.Fatal("what was adopted is given back under a value")
		}
		if v.OwnBytes(theirs[2:5])[0] = 'x'; theirs[2] == 'x' {
			rt.Fatal("others see a change of one's own bytes")
		}
		if m.memory.Drop(&m.record); len(m.heap.live) > 0 {
			rt.Fatal("what was adopted stays")
		}
	})
}
