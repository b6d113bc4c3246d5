package av

import "encoding/binary"

// TransportSizes are how many bytes there are from one packet of a transport stream to
// the next: of their own, with times between them as on disks of Blu-ray, and with sums
// against errors.
var TransportSizes = [...]int{188, 192, 204}

// TransportRun counts the packets of a transport stream that are so many bytes apart,
// from the first, which is at a place: most of them at most.
func TransportRun(b []byte, first, apart, most int) (n int) {
	for n < most && first+n*apart < len(b) && b[first+n*apart] == 'G' {
		n++
	}
	return n
}

// TransportID is the number of the stream that a packet is of.
func TransportID(p []byte) uint16 { return binary.BigEndian.Uint16(p[1:]) & 0x1FFF }

// TransportTime is when what begins in a packet of a transport stream is decoded, if it
// is timed, in 90,000ths of a second, and whether something of sound or video begins.
func TransportTime(p []byte) (time uint64, timed, begins bool) {
	if p[1]&0xC0 != 0x40 || p[3]&0xD0 != 0x10 { // damaged, in the middle, scrambled or empty
		return 0, false, false
	}
	at := 4
	if p[3]&0x20 != 0 {
		at += 1 + int(p[4])
	}
	if at+19 > len(p) {
		return 0, false, false
	}
	p = p[at:]
	if start := binary.BigEndian.Uint32(p); start < 0x1BD || start > 0x1FF { // of no packet of sound or video
		return 0, false, false
	}
	switch {
	case p[6]&0xC0 != 0x80:
	case p[7]&0xC0 == 0xC0:
		return Time33(p[14:]), true, true
	case p[7]&0xC0 == 0x80:
		return Time33(p[9:]), true, true
	}
	return 0, false, true
}

// Time33 reads a time of MPEG, between whose 33 bits are marks.
func Time33(b []byte) uint64 {
	return uint64(b[0]>>1&7)<<30 | uint64(binary.BigEndian.Uint16(b[1:])>>1)<<15 | uint64(binary.BigEndian.Uint16(b[3:])>>1)
}
