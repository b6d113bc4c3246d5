package flac

import (
	"bytes"
	"encoding/binary"
)

// Frame is a frame of a file.
type Frame struct {
	Offset, Size int64
	Sample       int64 // its first one
	Samples      int   // of each channel
}

// Has tells whether a sample is in the frame.
func (fr *Frame) Has(sample int64) bool {
	return sample >= fr.Sample && sample < fr.Sample+int64(fr.Samples)
}

// synced tells whether a frame may begin here.
func synced(b []byte) bool { return len(b) >= 2 && b[0] == 0xFF && b[1]&0xFE == 0xF8 }

// mostHead is the most bytes of a frame's header.
const mostHead = 16

var (
	rates = [...]int{1: 88200, 176400, 192000, 8000, 16000, 22050, 24000, 32000, 44100, 48000, 96000}
	bits  = [...]int{1: 8, 2: 12, 4: 16, 5: 20, 6: 24, 7: 32}
)

// parse reads the header of a frame (RFC 9639, 9.1), if one begins here that fits into
// the file.
func (f *File) parse(b []byte) (fr Frame, head int, ok bool) {
	if !synced(b) || len(b) < 6 {
		return fr, 0, false
	}
	block, rate, channels, depth := b[2]>>4, int(b[2]&15), int(b[3]>>4), b[3]>>1&7
	number, at := coded(b[4:])
	at += 4
	if at == 4 || len(b) < at+5 {
		return fr, 0, false
	}

	switch {
	case block == 0:
		return fr, 0, false
	case block == 1:
		fr.Samples = 192
	case block < 6:
		fr.Samples = 576 << (block - 2)
	case block == 6:
		fr.Samples = int(b[at]) + 1
		at++
	case block == 7:
		fr.Samples = int(binary.BigEndian.Uint16(b[at:])) + 1
		at += 2
	default:
		fr.Samples = 256 << (block - 8)
	}
	switch {
	case rate == 0:
		rate = f.Rate
	case rate < len(rates):
		rate = rates[rate]
	case rate == 12:
		rate = 1000 * int(b[at])
		at++
	case rate < 15:
		rate = int(binary.BigEndian.Uint16(b[at:])) * (9*(rate-13) + 1)
		at += 2
	}
	if channels++; channels > 8 && channels < 12 {
		channels = 2
	}
	asHead := depth == 0 || bits[depth] == f.Bits
	if rate != f.Rate || channels != f.Channels || !asHead || b[3]&1 != 0 {
		return fr, 0, false
	}
	if at >= len(b) || sum8(b[:at]) != b[at] {
		return fr, 0, false
	}

	if fr.Sample = number; b[1]&1 == 0 { // frames are counted
		fr.Sample *= int64(f.block)
	}
	rest := f.Samples - fr.Sample
	return fr, at + 1, int64(fr.Samples) == min(rest, int64(f.block))
}

// coded reads a number that is written as UTF-8 writes those of characters, but longer.
func coded(b []byte) (v int64, n int) {
	first := b[0]
	if first < 0x80 {
		return int64(first), 1
	}
	for n = 1; n < 7 && first<<n&0x80 != 0; n++ {
	}
	if n == 1 || first == 0xFF || len(b) < n {
		return 0, 0
	}
	v = int64(first & (0x7F >> n))
	for _, more := range b[1:n] {
		if more&0xC0 != 0x80 {
			return 0, 0
		}
		v = v<<6 | int64(more&0x3F)
	}
	return v, n
}

// at is the frame that begins at a place. It ends where the next one begins. If there is
// none, its check sum tells where it ends.
func (f *File) at(offset int64) (fr Frame, ok bool, err error) {
	b, err := f.content.Bytes(offset, int(min(int64(f.most)+mostHead, f.end-offset)))
	if err != nil {
		return fr, false, err
	}
	fr, head, ok := f.parse(b)
	if !ok {
		return fr, false, nil
	}
	fr.Offset = offset

	// One place in 65,536 has a sum that is right by chance. In a large set some of these
	// look like the mark of a frame, so the next header is searched for to the end.
	final := fr.Sample+int64(fr.Samples) == f.Samples
	sum, summed := uint16(0), 0
	for p := head + 2; p <= len(b); p++ {
		if next := bytes.IndexByte(b[p:], 0xFF); next >= 0 {
			p += next
		} else {
			p = len(b)
		}
		last := offset+int64(p) == f.end
		if !last && (final || !synced(b[p:])) {
			continue
		}
		if after, _, ok := f.parse(b[p:]); ok && after.Sample == fr.Sample+int64(fr.Samples) {
			fr.Size = int64(p)
			return fr, true, nil
		}
		// A check sum over what ends with it is 0.
		if sum, summed = sum16(sum, b[summed:p]), p; sum == 0 && (last || fr.Size == 0) {
			fr.Size = int64(p)
		}
	}
	if final && fr.Size == 0 && endsIn(b) {
		fr.Size = int64(len(b)) // other bytes follow: the decoder knows where it ends
	}
	return fr, fr.Size > 0, nil
}

// endsIn reports whether a frame whose check sum is right can end anywhere in b.
func endsIn(b []byte) bool {
	sum := uint16(0)
	for _, v := range b {
		if sum = sum<<8 ^ table16[0][byte(sum>>8)^v]; sum == 0 {
			return true
		}
	}
	return false
}
