package mp4

// A matrix turns stored frames for display: x' = a·x + c·y, y' = b·x + d·y. Its numbers
// are 16.16; where a frame is moved to does not matter here.
type matrix struct{ a, b, c, d int64 }

var unturned = matrix{a: 1 << 16, d: 1 << 16}

func readMatrix(f *fields) (m matrix) {
	m.a, m.b = int64(int32(f.u32())), int64(int32(f.u32()))
	f.skip(4)
	m.c, m.d = int64(int32(f.u32())), int64(int32(f.u32()))
	f.skip(16)
	return m
}

// times returns m followed by n.
func (m matrix) times(n matrix) matrix {
	fixed := func(x, p, y, q int64) int64 { return x>>8*(p>>8) + y>>8*(q>>8) }
	return matrix{
		a: fixed(m.a, n.a, m.b, n.c), b: fixed(m.a, n.b, m.b, n.d),
		c: fixed(m.c, n.a, m.d, n.c), d: fixed(m.c, n.b, m.d, n.d),
	}
}
