package walk

import "encoding/binary"

// flvWalk follows the tags of FLV, each of which is followed by its size.
type flvWalk struct {
	begun  bool     // the header has come
	sizes  bool     // they are right
	codecs [10]byte // by kinds of tags, and 1; 0: none has come
	sum    int64    // of the sizes of tags: some writers put that after each
}

func (w *flvWalk) step(f *file, at int64) (next int64, err error) {
	if !w.begun {
		b := f.Bytes(at, 9)
		if len(b) < 9 {
			return f.Len, nil
		}
		w.begun = true
		return at + int64(binary.BigEndian.Uint32(b[5:])) + 4, nil
	}
	b := f.Bytes(at, 11)
	if len(b) < 11 {
		return f.Len, nil
	}
	kind, size := b[0]&0x1F, int64(b[1])<<16+int64(b[2])<<8+int64(b[3])
	w.sum += 11 + size
	end := at + 11 + size

	switch kind {
	case 8, 9, 18, 15, 22: // the last two are of streams that were recorded, and skipped
	default:
		return f.lostTag(at)
	}

	behind := f.Bytes(end, 4)
	if len(behind) < 4 {
		if end > f.Len {
			return f.lostTag(at)
		}
		return f.Len, nil
	}
	switch said := int64(binary.BigEndian.Uint32(behind)); {
	case said == 11+size, said == 10+size, said == size && size > 0, said == w.sum: // as FFmpeg has it
		w.sizes = true
	case w.sizes:
		return f.lostTag(at)
	}
	return end + 4, w.same(f, at, kind, size)
}

// same checks that a tag has the codec of those before.
func (w *flvWalk) same(f *file, at int64, kind byte, size int64) error {
	if kind != 8 && kind != 9 {
		return nil
	}
	codec, ok := f.codec(at+11, kind, size)
	if was := w.codecs[kind]; ok && was > 0 && was != codec+1 {
		return damage(at, "the codec changes from number %d to %d", was-1, codec)
	}
	if ok {
		w.codecs[kind] = codec + 1
	}
	return nil
}

// codec returns the number of the codec of a tag of sound or video, at the place after
// its head. It is not ok if that is in a longer head.
func (f *file) codec(at int64, kind byte, size int64) (n byte, ok bool) {
	b := f.Bytes(at, 1)
	switch {
	case len(b) == 0 || size == 0:
		return 0, false
	case kind == 8:
		return b[0] >> 4, b[0]>>4 != 9
	}
	return b[0] & 15, b[0]&0x80 == 0 && b[0]>>4 != 5 // a command to the player
}

// begin implements walker. Demuxers seek to tags.
func (w *flvWalk) begin(f *file, at int64) int64 {
	if _, ok := f.Tag(at); !ok {
		return f.Len
	}
	w.begun, w.sum = true, 0
	return at
}

// lostTag is at something that is no tag: damage, if another follows.
func (f *file) lostTag(at int64) (next int64, err error) {
	for p, tried := at+1, 0; p < f.Len && tried < mostTried; p++ {
		b := f.Bytes(p, 11)
		if len(b) < 11 || b[8] != 0 || b[9] != 0 || b[10] != 0 { // the number of its stream
			continue
		}
		size, ok := f.Tag(p)
		if !ok || size == 11 {
			continue
		}
		tried++
		if b := f.Bytes(p+size, 4); len(b) == 4 && int64(binary.BigEndian.Uint32(b)) == size {
			return 0, damage(at, "no tag of FLV is there that is followed by its size; the next one begins at byte %d", p)
		}
	}
	return f.Len, nil
}

// mostTried limits the places that are tried because they look like a beginning.
const mostTried = 1 << 20
