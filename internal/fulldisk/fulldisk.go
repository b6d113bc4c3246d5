// Package fulldisk has tests write to a disk that is full after so many bytes.
package fulldisk

import "errors"

// Writer takes Room bytes.
type Writer struct{ Room int }

// Err is the error of all writes after that.
var Err = errors.New("full")

// Write implements [io.Writer].
func (w *Writer) Write(b []byte) (int, error) {
	if w.Room -= len(b); w.Room < 0 {
		return 0, Err
	}
	return len(b), nil
}
