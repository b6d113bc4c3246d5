package sound

// rest is a file without its first bytes.
type rest struct {
	file File
	at   int64
}

func (r *rest) Size() int64 { return r.file.Size() - r.at }

func (r *rest) ReadAt(p []byte, at int64) (int, error) { return r.file.ReadAt(p, r.at+at) }
