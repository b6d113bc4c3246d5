package sound

import (
	"io"

	"headrace/media/av/mpa"
)

// mostTags bounds how many tags are skipped: nobody writes more than a few.
const mostTags = 16

// tags returns how many bytes at the beginning of a file are tags of ID3v2, which some
// programs put before files of any kind.
func tags(file io.ReaderAt) (n int64, err error) {
	for range mostTags {
		var head [10]byte
		if _, err := file.ReadAt(head[:], n); err == io.EOF {
			return n, nil
		} else if err != nil {
			return 0, err
		}
		size := mpa.ID3Size(head[:])
		if size == 0 {
			break
		}
		n += int64(size)
	}
	return n, nil
}

// rest is a file without its first bytes.
type rest struct {
	file File
	at   int64
}

func (r *rest) Size() int64 { return r.file.Size() - r.at }

func (r *rest) ReadAt(p []byte, at int64) (int, error) { return r.file.ReadAt(p, r.at+at) }
