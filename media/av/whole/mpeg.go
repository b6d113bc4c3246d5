package whole

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
)

// transport: the last packets of a transport stream tell where they begin.
func transport(f *file) (End, error) {
	const some = 8 // packets in a row that begin as they should
	from := max(0, f.Len-204*(some+1))
	b := f.Bytes(from, 204*(some+1))

	for _, size := range av.TransportSizes {
		for first := range min(size, len(b)) {
			n := av.TransportRun(b, first, size, len(b))
			at := first + n*size
			if n < some-1 && (n < 2 || from > 0) {
				continue
			}
			if at < len(b) { // something else is behind the packets
				return Unknown, nil
			}
			rest := at - len(b) // bytes of the last packet that are missing
			if size == 192 {
				rest -= 4 // times are before the packets
			}
			switch {
			case rest > 0:
				return Open, f.cut("a packet", f.Len+int64(rest))
			case rest < 0:
				return Open, f.cutHead("a packet")
			}
			return Open, f.elementary(size, f.Len-int64(len(b)-first))
		}
	}
	return Unknown, nil
}

// elementary checks that the packets of elementary streams that are last have the bytes
// that they say, which is so of all but those of video. One place where a packet of the
// transport stream begins is given, at its mark.
func (f *file) elementary(size int, at int64) error {
	const most = 1 << 20 // which audio of 64 KiB is spread over
	n := min(at, most) / int64(size)
	at -= n * int64(size)
	missing := map[uint16]int{} // bytes, by streams

	for ; at < f.Len; at += int64(size) {
		p := f.Bytes(at, 188)
		if len(p) < 188 || p[0] != 'G' {
			continue
		}
		id := av.TransportID(p)
		body := 4
		if p[3]&0x20 != 0 {
			body += 1 + int(p[4])
		}
		if p[3]&0x10 == 0 || body > 188 || p[3]&0xC0 != 0 {
			continue
		}
		if p[1]&0x40 != 0 {
			delete(missing, id)
			if b := p[body:]; len(b) >= 6 && b[0] == 0 && b[1] == 0 && b[2] == 1 {
				if n := int(binary.BigEndian.Uint16(b[4:])); n > 0 {
					missing[id] = 6 + n
				}
			}
		}
		if n, ok := missing[id]; ok {
			missing[id] = n - (188 - body)
		}
	}
	for id, n := range missing {
		if n > 0 {
			return fmt.Errorf("%w: the file ends after %d bytes, inside a packet of stream 0x%x, "+
				"of which %d bytes are missing", media.ErrTruncated, f.Len, id, n)
		}
	}
	return nil
}

// program: packets of a program stream say how long they are. Those at the end of the
// file are followed from the first that leads to others.
func program(f *file) (End, error) {
	const some = 1 << 17
	from := max(0, f.Len-some)
	b := bytes.Clone(f.Bytes(from, some))
	for at := 0; at < len(b); at++ {
		next := bytes.Index(b[at:], []byte{0, 0, 1, 0xBA})
		if next < 0 {
			break
		}
		at += next
		if end, err, ok := f.packs(b, at); ok {
			return end, err
		}
	}
	return Unknown, nil
}

// packs follows packs and packets. It is not ok where these are none.
func (f *file) packs(b []byte, at int) (End, error, bool) {
	end := Open
	for n := 0; at < len(b); n++ {
		p := b[at:]
		if len(p) < 4 {
			if bytes.HasPrefix([]byte{0, 0, 1}, p) {
				return end, f.cutHead("a packet"), true
			}
			return end, nil, n > 1
		}
		if p[0] != 0 || p[1] != 0 || p[2] != 1 || p[3] < 0xB9 {
			return end, nil, n > 1 && bytes.Count(p, []byte{0}) == len(p) // filled up
		}

		size := 0
		switch {
		case p[3] == 0xB9:
			size, end = 4, Stated
		case p[3] == 0xBA && len(p) < 14:
			return end, f.cutHead("a pack"), n > 0
		case p[3] == 0xBA && p[4]>>6 == 1:
			size = 14 + int(p[13]&7)
		case p[3] == 0xBA && p[4]>>4 == 2:
			size = 12
		case p[3] == 0xBA:
			return end, nil, false
		case len(p) < 6:
			return end, f.cutHead("a packet"), true
		default:
			size = 6 + int(binary.BigEndian.Uint16(p[4:]))
		}
		if p[3] != 0xB9 {
			end = Open
		}
		if size > len(p) {
			return end, f.cut("a packet", f.Len+int64(size-len(p))), true
		}
		at += size
	}
	return end, nil, true
}
