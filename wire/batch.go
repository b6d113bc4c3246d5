package wire

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// Unpooled marks a [Batch] whose slot is outside the pool, because the consumer holds
// all of those.
const Unpooled = 1

// Alone marks a [Batch] whose segment has no other slot, and goes when it is released.
const Alone = 2

// textBeside marks a [Batch] with something Beside.
const textBeside = 4

// Batch hands one slot to the client, with the state after it.
type Batch struct {
	Segment, Slot uint32
	Rows          uint32
	Flags         uint32
	Step          int64      // number of the batch in its epoch
	Epoch         int64      // of the batch
	StateEpoch    int64      // of the state after this batch
	Extents       []uint32   // of its fields' shapes, those that differ between batches, in the order of the schema
	Place         []byte     // what else it changes of the record, as JSON
	Text          [][]string // the text fields in the order of the schema, a string a row
	Packed        []Packed   // by text field; nil: all are in Text
	Beside        *Beside    // where the bytes of the text fields are; nil: in the frame
}

// Beside says where bytes are that would be much in a frame: in memory that both ends
// share. The client gives the slot back when it has read them.
type Beside struct {
	Slot  Slot
	Bytes uint32
}

// Packed are the texts of all rows of a field, one after the other. If Ends and Until are
// empty, the field is in Text.
type Packed struct {
	Bytes []byte
	Ends  []int
	Counted
}

// Counted are texts such as "clicks.parquet[17]" by runs: a name with numbers that follow
// each other.
type Counted struct {
	Names []string
	First []int64  // by run, its first number
	Until []uint32 // how many texts there are up to its end
	Named []uint32 // which of Names it has
}

// marksCounted is where the first text of a field would begin, if it were not counted.
const marksCounted = math.MaxUint32

const countedFixed = 16

const batchFixed = 48

// AppendBatch appends the payload of a BATCH frame.
func AppendBatch(dst []byte, b *Batch) []byte {
	le := binary.LittleEndian
	flags, text := b.Flags, uint32(0) // which is known at the end, if it is in the frame
	if b.Beside != nil {
		flags, text = flags|textBeside, b.Beside.Bytes
	}
	dst = le.AppendUint32(dst, b.Segment)
	dst = le.AppendUint32(dst, b.Slot)
	dst = le.AppendUint32(dst, b.Rows)
	dst = le.AppendUint32(dst, flags)
	dst = le.AppendUint64(dst, uint64(b.Step))
	dst = le.AppendUint64(dst, uint64(b.Epoch))
	dst = le.AppendUint64(dst, uint64(b.StateEpoch))
	dst = le.AppendUint32(dst, uint32(len(b.Place)))
	size := len(dst)
	dst = le.AppendUint32(dst, text)
	for _, n := range b.Extents {
		dst = le.AppendUint32(dst, n)
	}
	dst = append(dst, b.Place...)
	if b.Beside != nil {
		dst = le.AppendUint32(dst, b.Beside.Slot.Segment)
		return le.AppendUint32(dst, b.Beside.Slot.Slot)
	}
	from := len(dst)
	dst = b.AppendText(dst)
	le.PutUint32(dst[size:], uint32(len(dst)-from))
	return dst
}

// AppendText appends the bytes of the text fields: [Batch.TextSize] of them.
func (b *Batch) AppendText(dst []byte) []byte {
	for i, field := range b.Text {
		switch {
		case b.isCounted(i):
			dst = appendCounted(dst, &b.Packed[i].Counted)
		case b.isPacked(i):
			dst = appendPacked(dst, &b.Packed[i])
		default:
			dst = appendText(dst, field)
		}
	}
	return dst
}

// TextSize returns how many bytes the text fields take.
func (b *Batch) TextSize() (n int) {
	for i, field := range b.Text {
		if b.isCounted(i) {
			n += b.Packed[i].Counted.size()
			continue
		}
		n += 4
		if b.isPacked(i) {
			n += 4*len(b.Packed[i].Ends) + len(b.Packed[i].Bytes)
			continue
		}
		for _, s := range field {
			n += 4 + len(s)
		}
	}
	return n
}

func (b *Batch) isCounted(field int) bool {
	return field < len(b.Packed) && len(b.Packed[field].Until) > 0
}

func (b *Batch) isPacked(field int) bool { return field < len(b.Packed) && b.Packed[field].Ends != nil }

func appendText(dst []byte, rows []string) []byte {
	end := uint32(0)
	dst = binary.LittleEndian.AppendUint32(dst, 0)
	for _, s := range rows {
		end += uint32(len(s))
		dst = binary.LittleEndian.AppendUint32(dst, end)
	}
	for _, s := range rows {
		dst = append(dst, s...)
	}
	return dst
}

func appendPacked(dst []byte, p *Packed) []byte {
	at := len(dst)
	dst = slices.Grow(dst, 4*(len(p.Ends)+1)+len(p.Bytes))[:at+4*(len(p.Ends)+1)]
	binary.LittleEndian.PutUint32(dst[at:], 0)
	for i, end := range p.Ends {
		binary.LittleEndian.PutUint32(dst[at+4*i+4:], uint32(end))
	}
	return append(dst, p.Bytes...)
}

func (c *Counted) nameBytes() (n int) {
	for _, name := range c.Names {
		n += len(name)
	}
	return n
}

func (c *Counted) size() int { return countedFixed + 16*len(c.First) + 4*len(c.Names) + c.nameBytes() }

func appendCounted(dst []byte, c *Counted) []byte {
	le := binary.LittleEndian
	bytes := c.nameBytes()
	dst = slices.Grow(dst, c.size())
	for _, n := range [...]int{marksCounted, len(c.First), len(c.Names), bytes} {
		dst = le.AppendUint32(dst, uint32(n))
	}
	for _, n := range c.First {
		dst = le.AppendUint64(dst, uint64(n))
	}
	for _, n := range c.Until {
		dst = le.AppendUint32(dst, n)
	}
	for _, n := range c.Named {
		dst = le.AppendUint32(dst, n)
	}
	end := 0
	for _, name := range c.Names {
		end += len(name)
		dst = le.AppendUint32(dst, uint32(end))
	}
	for _, name := range c.Names {
		dst = append(dst, name...)
	}
	return dst
}

// ParseBatch reads the payload of a BATCH frame that carries the given number of text
// fields and of extents. Fields are in Text, or counted in Packed. The place is not
// parsed, and is in p. Errors wrap [ErrProtocol].
func ParseBatch(p []byte, textFields, extents int) (*Batch, error) {
	if len(p) < batchFixed {
		return nil, fmt.Errorf("%w: BATCH of %d bytes", ErrProtocol, len(p))
	}

	le := binary.LittleEndian
	b := &Batch{
		Segment: le.Uint32(p), Slot: le.Uint32(p[4:]), Rows: le.Uint32(p[8:]), Flags: le.Uint32(p[12:]),
		Step: int64(le.Uint64(p[16:])), Epoch: int64(le.Uint64(p[24:])), StateEpoch: int64(le.Uint64(p[32:])),
	}

	place, text := uint64(le.Uint32(p[40:])), uint64(le.Uint32(p[44:]))
	rest := p[batchFixed:]
	here := text // how much of it is in the frame
	if b.Flags&textBeside != 0 {
		here = 8
	}
	if uint64(len(rest)) != 4*uint64(extents)+place+here {
		return nil, fmt.Errorf("%w: BATCH holds %d bytes after its header, %d extents, "+
			"%d bytes of a place and %d of text were announced", ErrProtocol, len(rest), extents, place, text)
	}

	for range extents {
		b.Extents, rest = append(b.Extents, le.Uint32(rest)), rest[4:]
	}
	b.Place, rest = rest[:place:place], rest[place:]
	if b.Flags&textBeside != 0 {
		b.Flags &^= textBeside
		b.Beside = &Beside{Slot{le.Uint32(rest), le.Uint32(rest[4:])}, uint32(text)}
		return b, nil
	}
	return b, b.ParseText(rest, textFields)
}

// ParseText reads the bytes of text fields, as [Batch.AppendText] has written them.
// Errors wrap [ErrProtocol].
func (b *Batch) ParseText(p []byte, fields int) error {
	for i := range fields {
		if len(p) >= countedFixed && binary.LittleEndian.Uint32(p) == marksCounted {
			counted, after, err := parseCounted(p, b.Rows)
			if err != nil {
				return err
			}
			b.Text, p = append(b.Text, nil), after
			b.Packed = append(b.Packed, make([]Packed, i+1-len(b.Packed))...)
			b.Packed[i].Counted = counted
			continue
		}
		field, after, err := parseText(p, b.Rows)
		if err != nil {
			return err
		}
		b.Text, p = append(b.Text, field), after
	}
	if len(p) > 0 {
		return fmt.Errorf("%w: %d bytes after the text of a BATCH", ErrProtocol, len(p))
	}
	return nil
}

func parseText(p []byte, rows uint32) (field []string, rest []byte, err error) {
	offsets := 4 * (uint64(rows) + 1)
	if uint64(len(p)) < offsets {
		return nil, nil, fmt.Errorf("%w: %d bytes of text for %d rows", ErrProtocol, len(p), rows)
	}
	text := p[offsets:]
	start := uint32(0)
	for i := range uint64(rows) + 1 {
		end := binary.LittleEndian.Uint32(p[4*i:])
		if end < start || uint64(end) > uint64(len(text)) || i == 0 && end != 0 {
			return nil, nil, fmt.Errorf("%w: text of row %d ends at %d, after %d, of %d", ErrProtocol, int64(i)-1, end, start, len(text))
		}
		if i > 0 {
			field = append(field, string(text[start:end]))
		}
		start = end
	}
	return field, text[start:], nil
}

// parseCounted reads a field of counted texts.
func parseCounted(p []byte, rows uint32) (c Counted, rest []byte, err error) {
	le := binary.LittleEndian
	runs, names, bytes := uint64(le.Uint32(p[4:])), uint64(le.Uint32(p[8:])), uint64(le.Uint32(p[12:]))
	if rest = p[countedFixed:]; uint64(len(rest)) < 16*runs+4*names+bytes {
		return c, nil, fmt.Errorf("%w: %d bytes of counted text for %d runs and %d names", ErrProtocol, len(rest), runs, names)
	}

	for range runs {
		c.First, rest = append(c.First, int64(le.Uint64(rest))), rest[8:]
	}
	last := uint32(0)
	for range runs {
		until := le.Uint32(rest)
		if until <= last || until > rows {
			return c, nil, fmt.Errorf("%w: a run of counted text ends at %d, after %d, of %d", ErrProtocol, until, last, rows)
		}
		c.Until, rest, last = append(c.Until, until), rest[4:], until
	}
	if last != rows || rows == 0 {
		return c, nil, fmt.Errorf("%w: %d counted texts for %d rows", ErrProtocol, last, rows)
	}
	for range runs {
		named := le.Uint32(rest)
		if uint64(named) >= names {
			return c, nil, fmt.Errorf("%w: name %d of counted text, of %d", ErrProtocol, named, names)
		}
		c.Named, rest = append(c.Named, named), rest[4:]
	}

	ends, text := rest[:4*names], rest[4*names:]
	from := uint32(0)
	for ; len(ends) > 0; ends = ends[4:] {
		end := le.Uint32(ends)
		if end < from || uint64(end) > bytes {
			return c, nil, fmt.Errorf("%w: a name of counted text ends at %d, after %d, of %d", ErrProtocol, end, from, bytes)
		}
		c.Names, from = append(c.Names, string(text[from:end])), end
	}
	if uint64(from) != bytes {
		return c, nil, fmt.Errorf("%w: names of counted text have %d bytes, of %d", ErrProtocol, from, bytes)
	}
	return c, text[bytes:], nil
}
