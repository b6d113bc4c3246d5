package shard

import (
	"bytes"

	"github.com/headrace/headrace/shard/index"
)

// inMemory makes an index that is in no file.
func inMemory(format string, fill func(*index.Writer) error) (*index.File, error) {
	var all bytes.Buffer
	w := index.NewWriter(&all, format)
	if err := fill(w); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return index.Read(all.Bytes())
}
