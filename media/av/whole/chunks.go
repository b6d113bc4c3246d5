package whole

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/headrace/headrace/media/av/heads"
)

// frames is the end of samples without a size: there has to be a whole number of blocks.
// A byte may follow chunks of an odd size.
func (f *file) frames(at, block int64, padded bool) (End, error) {
	rest := (f.Len - at) % max(block, 1)
	if rest != 0 && !(padded && rest == 1) {
		return Open, f.cut("a block of samples", f.Len-rest+block)
	}
	return Open, nil
}

// aiffPCM are the codings of AIFF-C whose blocks are one sample of all channels.
var aiffPCM = map[string]bool{"NONE": true, "sowt": true, "twos": true, "raw ": true, "in24": true,
	"in32": true, "fl32": true, "FL32": true, "fl64": true, "FL64": true}

// aiff follows the chunks of AIFF and AIFF-C.
func aiff(f *file) (End, error) {
	head := f.Bytes(0, 12)
	if len(head) < 12 {
		return Unknown, f.cutHead("the file")
	}
	form := int64(binary.BigEndian.Uint32(head[4:]))
	until, stated := 8+form, !heads.Unsaid(form, f.Len-8)
	compressed := string(head[8:12]) == "AIFC"
	block, samples := int64(0), int64(0)

	at := int64(12)
	for at+8 <= f.Len {
		b := f.Bytes(at, 34)
		if len(b) < 8 || !heads.Named(b) {
			break
		}
		name, size, body := string(b[:4]), int64(binary.BigEndian.Uint32(b[4:])), at+8
		if name == "COMM" && len(b) >= 26 {
			bits := int64(binary.BigEndian.Uint16(b[14:]))
			block, samples = int64(binary.BigEndian.Uint16(b[8:]))*((bits+7)/8), int64(binary.BigEndian.Uint32(b[10:]))
			if compressed && (len(b) < 30 || !aiffPCM[string(b[26:30])]) { // blocks are those of the codec
				block = 0
			}
		}
		if name == "SSND" && heads.Unsaid(size, f.Len-body) {
			if !stated && samples > 0 && block > 0 && body+8+samples*block > f.Len {
				return Open, f.cut("its samples", body+8+samples*block)
			}
			if f.Len-body < 8 {
				return Open, nil
			}
			return f.frames(body+8, block, true)
		}
		if body+size > f.Len {
			return Unknown, f.cut("its chunk "+name, body+size)
		}
		at = body + size + size%2
	}
	if stated && until > f.Len+8 { // writers that count the head, too, are 8 bytes off
		return Stated, f.states(until)
	}
	return Stated, nil
}

// caf follows the chunks of CAF.
func caf(f *file) (End, error) {
	block := int64(0)
	varies, table, data := false, false, false // packets have sizes of their own, which a chunk has; the samples
	if f.Len < 8 {
		return Unknown, f.cutHead("the file")
	}

	for at := int64(8); at < f.Len; {
		b := f.Bytes(at, 12+32)
		if len(b) >= 4 && !heads.Named(b) || data && len(bytes.Trim(b, "\x00")) == 0 { // libsndfile fills up
			break
		}
		if len(b) < 12 {
			return Unknown, f.cutHead("a chunk")
		}
		name, size, body := string(b[:4]), int64(binary.BigEndian.Uint64(b[4:])), at+12
		if name == "desc" && len(b) >= 12+20 {
			block = int64(binary.BigEndian.Uint32(b[12+16:]))
			varies = block == 0
		}
		table, data = table || name == "pakt", data || name == "data"
		if name == "data" && size == -1 {
			if f.Len-body < 4 {
				return Open, f.cutHead("its samples")
			}
			return f.frames(body+4, block, false)
		}
		if size < 0 || size > math.MaxInt64-body {
			break
		}
		if body+size > f.Len {
			return Unknown, f.cut("its chunk "+name, body+size)
		}
		at = body + size
	}
	switch {
	case !data:
		return Unknown, f.cutHead("its chunk data")
	case varies && !table:
		return Stated, f.cutHead("its chunk pakt")
	}
	return Stated, nil
}

// auBytes are those of a sample, by its coding.
var auBytes = map[uint32]int64{1: 1, 2: 1, 3: 2, 4: 3, 5: 4, 6: 4, 7: 8, 27: 1}

// au: the head says all.
func au(f *file) (End, error) {
	b := f.Bytes(0, 24)
	if len(b) < 24 {
		return Unknown, f.cutHead("the file")
	}
	order := binary.ByteOrder(binary.BigEndian)
	if string(b[:4]) == "dns." {
		order = binary.LittleEndian
	}
	from, size := int64(order.Uint32(b[4:])), int64(order.Uint32(b[8:]))
	if size == 0xFFFFFFFF {
		return f.frames(from, auBytes[order.Uint32(b[12:])]*int64(order.Uint32(b[20:])), false)
	}
	if from+size > f.Len {
		return Stated, f.cut("its samples", from+size)
	}
	return Stated, nil
}

// wave follows the chunks of WAV, RF64 and BW64 up to the samples. Of PCM without a size
// the bytes of a last sample that is not whole are left out, as players do.
func wave(f *file) (End, error) {
	long, block := int64(-1), int64(1)

	for at := int64(12); at+8 <= f.Len; {
		b := f.Bytes(at, 24)
		if len(b) < 8 {
			break
		}
		name, size, body := string(b[:4]), int64(binary.LittleEndian.Uint32(b[4:])), at+8
		if name == "ds64" && len(b) >= 24 {
			long = int64(min(binary.LittleEndian.Uint64(b[16:]), math.MaxInt64/2))
		}
		if name == "fmt " && len(b) >= 24 {
			switch binary.LittleEndian.Uint16(b[8:]) {
			case 1, 3, 6, 7, 0xFFFE:
			default:
				block = int64(binary.LittleEndian.Uint16(b[20:]))
			}
		}
		if name == "data" {
			if size == 0xFFFFFFFF && long > 0 {
				size = long
			} else if heads.Unsaid(size, f.Len-body) {
				return f.frames(body, block, true)
			}
			if body+size > f.Len {
				return Stated, f.cut("its samples", body+size)
			}
			return Stated, nil
		}
		at = body + size + size%2
	}
	return Unknown, f.cutHead("its samples")
}

// w64 does so with the wide chunks of Sony's W64.
func w64(f *file) (End, error) {
	for at := int64(40); at+24 <= f.Len; {
		b := f.Bytes(at, 24)
		if len(b) < 24 {
			break
		}
		size := int64(min(binary.LittleEndian.Uint64(b[16:]), math.MaxInt64/2))
		if string(b[:4]) == "data" {
			switch {
			case size <= 24 || size >= math.MaxInt64/2:
				return Open, nil
			case at+size > f.Len:
				return Stated, f.cut("its samples", at+size)
			}
			return Stated, nil
		}
		if size < 24 {
			break
		}
		at += (size + 7) / 8 * 8
	}
	return Unknown, f.cutHead("its samples")
}

// avi follows the lists of AVI. Files of more than a gigabyte have several.
func avi(f *file) (End, error) {
	end := Unknown
	for at := int64(0); at < f.Len; {
		b := f.Bytes(at, 12)
		if len(b) >= 4 && string(b[:4]) != "RIFF" {
			break
		}
		if len(b) < 12 {
			if end == Unknown || bytes.HasPrefix([]byte("RIFF"), b[:min(len(b), 4)]) {
				return end, f.cutHead("a list")
			}
			break
		}

		size := int64(binary.LittleEndian.Uint32(b[4:]))
		if heads.Unsaid(size, f.Len-at-8) {
			return Open, f.riff(at+12, f.Len)
		}
		until := at + 8 + size
		if err := f.riff(at+12, min(until, f.Len)); err != nil {
			return end, err
		}
		end = Stated
		if until > f.Len+8 { // writers that count the head, too, are 8 bytes off
			return end, f.cut("its list RIFF", until)
		}
		at = until + size%2
	}
	return end, nil
}

// riff walks over the chunks of a list up to a place. Those that have no size are walked
// through.
func (f *file) riff(at, until int64) error {
	for at < until {
		b := f.Bytes(at, 12)
		if len(b) >= 4 && !heads.Named(b) {
			return nil
		}
		if len(b) < 8 {
			return f.cutHead("a chunk")
		}

		name, size := string(b[:4]), int64(binary.LittleEndian.Uint32(b[4:]))
		if name == "LIST" && len(b) == 12 {
			kind := string(b[8:12])
			if heads.Unsaid(size, f.Len-at-8) || kind == "hdrl" || kind == "strl" {
				at += 12
				continue
			}
		}
		if name == "indx" {
			if err := f.superIndex(at+8, size); err != nil {
				return err
			}
		}
		if at+8+size > f.Len {
			return f.cut("its chunk "+name, at+8+size)
		}
		at += 8 + size + size%2
	}
	return nil
}

// superIndex checks that the lists an index names are in the file.
func (f *file) superIndex(at, size int64) error {
	b := f.Bytes(at, int(min(size, 1<<16)))
	if len(b) < 24 || b[3] != 0 {
		return nil
	}
	n := int(binary.LittleEndian.Uint32(b[4:]))
	for i := 24; n > 0 && i+16 <= len(b); n, i = n-1, i+16 {
		from, long := binary.LittleEndian.Uint64(b[i:]), uint64(binary.LittleEndian.Uint32(b[i+8:]))
		if from < math.MaxInt64/2 && int64(from+long) > f.Len {
			return f.cut("what its index names", int64(from+long))
		}
	}
	return nil
}
