package heads

import "math"

// Unsaid reports whether a size of 32 bits is that of a writer that did not know it, and
// could not go back: near the largest, in a file that is smaller.
func Unsaid(size, left int64) bool {
	switch {
	case size == 0:
		return true
	case size <= left: // there is as much
		return false
	case size <= math.MaxInt32: // the largest of a writer that counts with a sign
		return size >= 0x7FFF0000
	}
	return size >= 0xFFFF0000
}

// Named reports whether four bytes can be the name of a chunk. What is added behind a
// file, such as zeros, has none.
func Named(b []byte) bool {
	for _, c := range b[:4] {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}
