// Package heads reads the heads of the pieces that containers are made of: pages of Ogg,
// elements of EBML, tags of FLV, names of chunks.
package heads

import "io"

// File is read in small pieces, and in larger ones while they follow each other.
type File struct {
	From io.ReaderAt
	Len  int64
	Err  error // of reading

	at   int64
	part []byte // from at on
	room []byte
}

// How many bytes are read at once, of heads that are far from each other and close.
const (
	Apart    = 512
	Together = 64 << 10
)

// Bytes returns n bytes from a place on, or fewer at the file's end. They last until the
// next call.
func (f *File) Bytes(at int64, n int) []byte {
	if at < 0 || at >= f.Len || f.Err != nil {
		return nil
	}
	n = int(min(int64(n), f.Len-at))
	if at < f.at || at+int64(n) > f.at+int64(len(f.part)) {
		want := max(n, Apart)
		if end := f.at + int64(len(f.part)); len(f.part) > 0 && at >= f.at && at < end+Apart {
			want = max(n, Together)
		}
		if len(f.room) < want {
			f.room = make([]byte, want)
		}
		got, err := f.From.ReadAt(f.room[:min(int64(want), f.Len-at)], at)
		if err != nil && err != io.EOF {
			f.Err = err
			return nil
		}
		f.at, f.part = at, f.room[:got]
		n = min(n, got)
	}
	return f.part[at-f.at:][:n]
}
