package sound

import "io"

// Content is the bytes of a file, of which a part is in memory.
type Content struct {
	size int64
	file File // nil: all of it is in memory
	each int  // bytes that are read together
	at   int64
	part []byte // from at on
}

// InMemory is the content of a file that is in memory, and has to stay as it is.
func InMemory(file []byte) *Content { return &Content{size: int64(len(file)), part: file} }

// OnDisk is that of a file, which is read where it is looked at: so many bytes together.
func OnDisk(file File, each int) *Content { return &Content{size: file.Size(), file: file, each: each} }

// Size returns the number of bytes.
func (c *Content) Size() int64 { return c.size }

// File is what is read; nil: it is in memory.
func (c *Content) File() File { return c.file }

// Bytes are n of them from a place on, or fewer, where the file ends. They are there
// until the next call.
func (c *Content) Bytes(at int64, n int) ([]byte, error) {
	if n = int(min(int64(n), max(0, c.size-at))); n == 0 {
		return nil, nil
	}
	if at < c.at || at+int64(n) > c.at+int64(len(c.part)) {
		if most := max(n, c.each); cap(c.part) < most {
			c.part = make([]byte, most)
		}
		got, err := c.file.ReadAt(c.part[:max(n, c.each)], at)
		if err != nil && err != io.EOF {
			return nil, err
		}
		c.at, c.part = at, c.part[:got]
		n = min(n, got)
	}
	return c.part[at-c.at:][:n], nil
}
