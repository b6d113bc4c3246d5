package heads

// Tag returns the size of a tag of FLV, without the four bytes after it; 0 if there is no
// tag.
func (f *File) Tag(at int64) (size int64, ok bool) {
	b := f.Bytes(at, 11)
	if len(b) == 0 {
		return 0, false
	}
	if kind := b[0] & 0x1F; kind != 8 && kind != 9 && kind != 18 {
		return 0, false
	}
	if len(b) < 11 {
		return 11, false
	}
	return 11 + int64(b[1])<<16 + int64(b[2])<<8 + int64(b[3]), true
}
