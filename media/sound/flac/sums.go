package flac

// Check sums of RFC 9639, 9.1.8 and 9.3: polynomials without their highest power.
const (
	polynomial8  = 0x07
	polynomial16 = 0x8005
)

var table8, table16 = tables()

// tables have the sums of single bytes; of 16 bits, of bytes that up to seven others
// follow.
func tables() (short [256]byte, long [8][256]uint16) {
	for i := range 256 {
		s, l := byte(i), uint16(i)<<8
		for range 8 {
			s = s<<1 ^ s>>7*polynomial8
			l = l<<1 ^ l>>15*polynomial16
		}
		short[i], long[0][i] = s, l
	}
	for k := 1; k < 8; k++ {
		for i := range 256 {
			l := long[k-1][i]
			long[k][i] = l<<8 ^ long[0][l>>8]
		}
	}
	return short, long
}

func sum8(b []byte) (sum byte) {
	for _, v := range b {
		sum = table8[sum^v]
	}
	return sum
}

// sum16 goes on with a sum. Eight bytes at a time are several times as fast as one.
func sum16(sum uint16, b []byte) uint16 {
	t := &table16
	for len(b) >= 8 {
		sum = t[7][byte(sum>>8)^b[0]] ^ t[6][byte(sum)^b[1]] ^ t[5][b[2]] ^ t[4][b[3]] ^ t[3][b[4]] ^ t[2][b[5]] ^ t[1][b[6]] ^ t[0][b[7]]
		b = b[8:]
	}
	for _, v := range b {
		sum = sum<<8 ^ t[0][byte(sum>>8)^v]
	}
	return sum
}
