package tarfile

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// blockSize is the size of headers, and what all else is padded to.
const blockSize = 512

// header is a block that describes a member.
type header []byte

// The kinds of members that are looked at.
const (
	kindOld        = 0
	kindFile       = '0'
	kindHardLink   = '1'
	kindContinuous = '7'
	kindGlobal     = 'g'
	kindExtended   = 'x'
	kindSolaris    = 'X' // extended, too
	kindLongLink   = 'K'
	kindLongName   = 'L'
	kindPiece      = 'M' // of a member that began in another volume
	kindSparse     = 'S'
)

func (h header) kind() byte       { return h[156] }
func (h header) linkName() []byte { return text(h[157:257]) }

// empty tells whether it is one of the blocks that end an archive.
func (h header) empty() bool {
	for i := 0; i < blockSize; i += 8 {
		if binary.LittleEndian.Uint64(h[i:]) != 0 {
			return false
		}
	}
	return true
}

// valid tells whether the checksum is right. Old programs have added up bytes as if they
// had signs.
func (h header) valid() bool {
	want, ok := number(h[148:156])
	if !ok {
		return false
	}
	// Spaces stand for the checksum itself.
	sum := sumOf(h[:148]) + sumOf(h[156:512]) + 8*' '
	if sum == want {
		return true
	}
	negative := int64(0)
	for i := range blockSize {
		if (i < 148 || i >= 156) && h[i] >= 128 {
			negative += 256
		}
	}
	return negative > 0 && sum-negative == want
}

// sumOf adds up bytes, eight at a time: even and odd ones side by side, in fields of 16
// bits, which have room for 256 of each.
func sumOf(b []byte) (sum int64) {
	const even = 0x00ff00ff00ff00ff
	var pairs uint64
	for ; len(b) >= 8; b = b[8:] {
		v := binary.LittleEndian.Uint64(b)
		pairs += v&even + v>>8&even
	}
	for ; pairs != 0; pairs >>= 16 {
		sum += int64(pairs & 0xffff)
	}
	for _, c := range b {
		sum += int64(c)
	}
	return sum
}

// name returns the name of a member, without what other headers say of it.
func (h header) name(into []byte) []byte {
	name := text(h[:100])
	if string(h[257:263]) != "ustar\x00" { // GNU has times there
		return append(into, name...)
	}
	prefix := h[345:500]
	if string(h[508:512]) == "tar\x00" { // star, too, and fewer bytes
		prefix = h[345:476]
	}
	if folder := text(prefix); len(folder) > 0 {
		into = append(append(into, folder...), '/')
	}
	return append(into, name...)
}

func (h header) size() (int64, bool) { return number(h[124:136]) }

// text is what is before the first zero.
func text(b []byte) []byte {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return b[:i]
	}
	return b
}

// number reads octal digits with spaces around them, or, where the first bit is set, the
// other bits as they are. False: it is none, or beyond 63 bits, or below 0.
func number(b []byte) (n int64, ok bool) {
	if b[0]&0x80 != 0 {
		if b[0] != 0x80 {
			return 0, false
		}
		for _, c := range b[1:] {
			if bits.LeadingZeros64(uint64(n)) <= 8 {
				return 0, false
			}
			n = n<<8 | int64(c)
		}
		return n, true
	}

	digits := bytes.TrimSpace(text(b))
	if len(digits) > 20 {
		return 0, false
	}
	for _, c := range digits {
		if c < '0' || c > '7' || bits.LeadingZeros64(uint64(n)) <= 3 {
			return 0, false
		}
		n = n<<3 | int64(c-'0')
	}
	return n, true
}

// padded is how many bytes a member of that size takes. It does not overflow for what
// fits into a file.
func padded(n int64) int64 { return (n + blockSize - 1) &^ (blockSize - 1) }
