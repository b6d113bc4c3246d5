package arrowipc

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/shard/internal/textlist"
	"github.com/headrace/headrace/tensor"
)

// Unpack unpacks a buffer.
func (Format) Unpack(dst []byte, b index.Block, data []byte) ([]byte, error) {
	if b.Codec&^blockCodec == 0 {
		return inflate(dst, b, data)
	}
	raw, err := whole(b, data)
	if err != nil {
		return nil, err
	}
	switch {
	case b.Codec&blockTexts != 0:
		return appendTexts(dst, b, raw, nil)
	case b.Codec&blockBits != 0:
		if int64(len(raw)) < (b.Size+7)/8 {
			break
		}
		for i := range int(b.Size) {
			dst = append(dst, raw[i/8]>>(i%8)&1)
		}
		return dst, nil
	case int64(len(raw)) >= b.Size:
		return append(dst, raw[:b.Size]...), nil
	}
	return nil, fmt.Errorf("%w: a buffer of %d bytes becomes %d", shard.ErrCorrupt, len(raw), b.Size)
}

// Refers implements [shard.Referring].
func (Format) Refers(b index.Block) bool { return b.Codec&blockRefers != 0 }

// Target implements [shard.Referring].
func (Format) Target(b index.Block) bool { return b.Codec&blockTarget != 0 }

// UnpackWith implements [shard.Referring]: it unpacks floats, and has those be NaN that
// have no value; and lists of text.
func (Format) UnpackWith(dst []byte, b index.Block, data, valid []byte) ([]byte, error) {
	if b.Codec&blockTexts != 0 {
		raw, err := whole(b, data)
		if err != nil {
			return nil, err
		}
		return appendTexts(dst, b, raw, valid)
	}
	before := len(dst)
	dst, err := Format{}.Unpack(dst, b, data)
	if err != nil {
		return nil, err
	}

	width := int(b.Codec >> widthShift)
	all := dst[before:]
	if width < 2 || len(valid) < (len(all)/width+7)/8 {
		return nil, fmt.Errorf("%w: the validity of a buffer is short", shard.ErrCorrupt)
	}
	for i := range len(all) / width {
		if valid[i/8]>>(i%8)&1 != 0 {
			continue
		}
		switch at := all[i*width:]; width {
		case 2:
			binary.LittleEndian.PutUint16(at, tensor.ToFloat16(index.Missing))
		case 4:
			binary.LittleEndian.PutUint32(at, math.Float32bits(float32(index.Missing)))
		case 8:
			binary.LittleEndian.PutUint64(at, math.Float64bits(index.Missing))
		}
	}
	return dst, nil
}

// appendTexts unpacks such a block. Offsets become numbers of eight bytes, and have those
// of lists in lists before them, and how many these are.
func appendTexts(dst []byte, b index.Block, raw, before []byte) ([]byte, error) {
	short := fmt.Errorf("%w: the offsets of lists of text", shard.ErrCorrupt)
	if b.Codec&blockTarget == 0 {
		return appendStream(dst, raw, before, b.Size)
	}
	size := b.Size - 8
	if b.Codec&blockRefers != 0 {
		dst, size = append(dst, before...), b.Size-int64(len(before))
	} else {
		inner := int64(0)
		if b.Codec&blockInner != 0 {
			inner = size / 8
		}
		dst = binary.LittleEndian.AppendUint64(dst, uint64(inner))
	}
	long := b.Codec&blockLong != 0
	if size < 0 || size/8 > int64(len(raw))/widthOf(long) {
		return nil, short
	}
	for i := range int(size / 8) {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(offset(raw, i, long)))
	}
	return dst, nil
}

// appendStream appends text as a stream, which has at most so many bytes.
func appendStream(dst, raw, offsets []byte, most int64) ([]byte, error) {
	damaged := fmt.Errorf("%w: lists of text and their offsets", shard.ErrCorrupt)
	if len(offsets) < 8 {
		return nil, damaged
	}
	n, words := binary.LittleEndian.Uint64(offsets), offsets[8:]
	if n > uint64(len(words)/8) {
		return nil, damaged
	}
	lists, ends := words[:8*n], words[8*n:]
	most += int64(len(dst))
	add := func(from, to int64) bool {
		if from < 0 || to < from || to >= int64(len(ends)/8) {
			return false
		}
		for i := int(from); i < int(to); i++ {
			begin, end := offset(ends, i, true), offset(ends, i+1, true)
			if begin < 0 || end < begin || end > int64(len(raw)) || int64(len(dst))+4+end-begin > most {
				return false
			}
			dst = textlist.AppendText(dst, raw[begin:end])
		}
		return true
	}

	if len(lists) == 0 {
		if !add(0, int64(len(ends)/8)-1) {
			return nil, damaged
		}
		return dst, nil
	}
	for i := range len(lists)/8 - 1 {
		if dst = textlist.AppendMark(dst, 1); !add(offset(lists, i, true), offset(lists, i+1, true)) {
			return nil, damaged
		}
	}
	return dst, nil
}
