package mpa

// Declared is how many frames follow the first of a file of MP3, by its tag of Xing, Info
// or VBRI; 0 if the tag does not say it; -1: there is no tag.
func Declared(frame []byte, h Header) int {
	n, _, _ := info(frame, h)
	return n
}
