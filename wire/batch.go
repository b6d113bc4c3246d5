package wire

import (
	"encoding/binary"
	"fmt"
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

// Packed are the texts of all rows of a field, one after the other. Where Ends is nil,
// the field is in Text.
type Packed struct {
	Bytes []byte
	Ends  []int
}

const batchFixed = 48

// AppendBatch appends the payload of a BATCH frame.
func AppendBatch(dst []byte, b *Batch) []byte {
	le := binary.LittleEndian
	flags, text := b.Flags, uint32(0)
	if b.Beside != nil {
		flags, text = flags|textBeside, b.Beside.Bytes
	} else {
		text = uint32(b.TextSize())
	}
	dst = le.AppendUint32(dst, b.Segment)
	dst = le.AppendUint32(dst, b.Slot)
	dst = le.AppendUint32(dst, b.Rows)
	dst = le.AppendUint32(dst, flags)
	dst = le.AppendUint64(dst, uint64(b.Step))
	dst = le.AppendUint64(dst, uint64(b.Epoch))
	dst = le.AppendUint64(dst, uint64(b.StateEpoch))
	dst = le.AppendUint32(dst, uint32(len(b.Place)))
	dst = le.AppendUint32(dst, text)
	for _, n := range b.Extents {
		dst = le.AppendUint32(dst, n)
	}
	dst = append(dst, b.Place...)
	if b.Beside != nil {
		dst = le.AppendUint32(dst, b.Beside.Slot.Segment)
		return le.AppendUint32(dst, b.Beside.Slot.Slot)
	}
	return b.AppendText(dst)
}

// AppendText appends the bytes of the text fields: [Batch.TextSize] of them.
func (b *Batch) AppendText(dst []byte) []byte {
	for i, field := range b.Text {
		if b.isPacked(i) {
			dst = appendPacked(dst, &b.Packed[i])
		} else {
			dst = appendText(dst, field)
		}
	}
	return dst
}

// TextSize returns how many bytes the text fields take.
func (b *Batch) TextSize() (n int) {
	for i, field := range b.Text {
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

// ParseBatch reads the payload of a BATCH frame that carries the given number of text
// fields and of extents. The place is not parsed, and is in p. Errors wrap
// [ErrProtocol].
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

// ParseText reads the bytes of text fields, as [Batch.AppendText] has written them. Errors
// wrap [ErrProtocol].
func (b *Batch) ParseText(p []byte, fields int) error {
	for range fields {
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
