package sample

// Texts are texts, or other bytes, of any length, one after the other.
type Texts struct {
	Bytes []byte
	Ends  []int // of each, in Bytes
}

// Len returns how many there are.
func (t *Texts) Len() int { return len(t.Ends) }

// At returns one of them. It is a part of Bytes.
func (t *Texts) At(i int) []byte {
	from := 0
	if i > 0 {
		from = t.Ends[i-1]
	}
	return t.Bytes[from:t.Ends[i]]
}

// Add appends one.
func (t *Texts) Add(b []byte) {
	t.Bytes = append(t.Bytes, b...)
	t.End()
}

// End makes one text of the bytes appended to Bytes since the last end.
func (t *Texts) End() { t.Ends = append(t.Ends, len(t.Bytes)) }

// Reset empties t, and keeps its memory.
func (t *Texts) Reset() { t.Bytes, t.Ends = t.Bytes[:0], t.Ends[:0] }
