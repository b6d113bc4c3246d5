package whole

import (
	"fmt"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av/heads"
)

// End says how a file ends.
type End int

const (
	// Unknown is the end of a file whose structure is not known here.
	Unknown End = iota
	// Stated is an end that the file states: by a size, or by a last page that is marked.
	Stated
	// Open is the end of a live file, between two elements: more could have followed.
	Open
)

// file is a file with the errors of one that is cut off.
type file struct{ heads.File }

// cut is the error of a file that ends inside something which goes on to a place.
func (f *file) cut(inside string, until int64) error {
	return fmt.Errorf("%w: the file ends after %d bytes, inside %s, which goes on to byte %d", media.ErrTruncated, f.Len, inside, until)
}

// cutHead is that of a file that ends inside the head of something.
func (f *file) cutHead(of string) error {
	return fmt.Errorf("%w: the file ends after %d bytes, inside the head of %s", media.ErrTruncated, f.Len, of)
}

// states is that of a file that is shorter than it says.
func (f *file) states(size int64) error {
	return fmt.Errorf("%w: the file ends after %d bytes, and says that it has %d", media.ErrTruncated, f.Len, size)
}
