package main

import (
	"strconv"

	"github.com/headrace/headrace/internal/bytesize"
)

// size is the value of a flag that takes a number of bytes: 1073741824, 512MiB, 2GB.
type size struct{ bytes *int64 }

func (s size) String() string {
	if s.bytes == nil || *s.bytes == 0 {
		return ""
	}
	return strconv.FormatInt(*s.bytes, 10)
}

func (s size) Type() string { return "size" }

func (s size) Set(text string) error {
	n, err := bytesize.Parse(text)
	if err == nil {
		*s.bytes = n
	}
	return err
}
