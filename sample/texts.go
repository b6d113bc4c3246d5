package sample

import "strconv"

// Texts are texts, or other bytes, of any length, one after the other. Names that end in
// numbers may be counted instead: see [Counted].
type Texts struct {
	Bytes []byte
	Ends  []int // of each, in Bytes
	Counted
}

// Counted are texts such as "clicks.parquet[17]" without their characters: nothing is
// done for each until one is read. They are the only ones then, and Bytes and Ends are
// empty. A run is a name with numbers that follow each other.
type Counted struct {
	Names []string
	First []int64  // by run, its first number
	Until []uint32 // how many texts there are up to its end
	Named []uint32 // which of Names it has
}

// Len returns how many there are.
func (t *Texts) Len() int {
	if n := len(t.Until); n > 0 {
		return int(t.Until[n-1])
	}
	return len(t.Ends)
}

// At returns one of them. It is a part of Bytes.
func (t *Texts) At(i int) []byte {
	t.Spell()
	from := 0
	if i > 0 {
		from = t.Ends[i-1]
	}
	return t.Bytes[from:t.Ends[i]]
}

// Add appends one.
func (t *Texts) Add(b []byte) {
	t.Spell()
	t.Bytes = append(t.Bytes, b...)
	t.End()
}

// End makes one text of the bytes appended to Bytes since the last end.
func (t *Texts) End() { t.Ends = append(t.Ends, len(t.Bytes)) }

// Name adds a name that texts may be counted with, and returns its number.
func (t *Texts) Name(name string) uint32 {
	t.Names = append(t.Names, name)
	return uint32(len(t.Names) - 1)
}

// Count appends n texts, the name with the numbers from one on.
func (t *Texts) Count(name uint32, from int64, n int) {
	if len(t.Ends) > 0 { // there are others
		for k := range n {
			t.spell(t.Names[name], from+int64(k))
		}
		return
	}

	last := len(t.Until) - 1
	until := uint32(t.Len() + n)
	if last >= 0 && t.Named[last] == name {
		begin := uint32(0)
		if last > 0 {
			begin = t.Until[last-1]
		}
		if from == t.First[last]+int64(t.Until[last]-begin) {
			t.Until[last] = until
			return
		}
	}
	t.First, t.Until, t.Named = append(t.First, from), append(t.Until, until), append(t.Named, name)
}

// Spell writes texts that are counted into Bytes.
func (t *Texts) Spell() {
	if len(t.Until) == 0 {
		return
	}
	at := uint32(0)
	for run, until := range t.Until {
		for n := t.First[run]; at < until; n, at = n+1, at+1 {
			t.spell(t.Names[t.Named[run]], n)
		}
	}
	t.First, t.Until, t.Named = t.First[:0], t.Until[:0], t.Named[:0]
}

// spell appends one.
func (t *Texts) spell(name string, n int64) {
	t.Bytes = append(append(t.Bytes, name...), '[')
	t.Bytes = append(strconv.AppendInt(t.Bytes, n, 10), ']')
	t.End()
}

// Size returns how many bytes they are, as they are kept.
func (t *Texts) Size() int {
	n := len(t.Bytes) + 16*len(t.Until)
	for _, name := range t.Names {
		n += len(name)
	}
	return n
}

// Set makes t equal to others, in memory of its own.
func (t *Texts) Set(others *Texts) {
	t.Reset()
	t.Bytes, t.Ends = append(t.Bytes, others.Bytes...), append(t.Ends, others.Ends...)
	t.Names, t.First = append(t.Names, others.Names...), append(t.First, others.First...)
	t.Until, t.Named = append(t.Until, others.Until...), append(t.Named, others.Named...)
}

// Reset empties t, and keeps its memory.
func (t *Texts) Reset() {
	t.Bytes, t.Ends = t.Bytes[:0], t.Ends[:0]
	clear(t.Names) // a name must not keep a table of paths alive
	t.Names, t.First, t.Until, t.Named = t.Names[:0], t.First[:0], t.Until[:0], t.Named[:0]
}
