package recode

import (
	"io"
	"os"
)

// sized implements [sound.File], with the descriptor that FFmpeg reads it by.
type sized struct {
	*os.File
	size int64
}

func sizeOf(file *os.File) (sized, error) {
	about, err := file.Stat()
	if err != nil {
		return sized{}, err
	}
	return sized{file, about.Size()}, nil
}

func (s sized) Size() int64 { return s.size }

func (s sized) Descriptor() int { return int(s.Fd()) }

// content reads all of the file to memory.
func (s sized) content() ([]byte, error) {
	data := make([]byte, s.size)
	n, err := s.ReadAt(data, 0)
	if err != nil && err != io.EOF {
		return nil, err
	}
	return data[:n], nil
}
