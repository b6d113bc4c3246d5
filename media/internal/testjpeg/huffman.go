package testjpeg

import "math/bits"

// bitWriter writes entropy-coded data.
type bitWriter struct {
	out []byte
	acc uint64
	n   int
}

func (w *bitWriter) put(value uint64, n int) {
	w.acc = w.acc<<n | value&(1<<n-1)
	for w.n += n; w.n >= 8; w.n -= 8 {
		b := byte(w.acc >> (w.n - 8))
		w.out = append(w.out, b)
		if b == 0xFF {
			w.out = append(w.out, 0)
		}
	}
}

// flush fills the last byte with ones.
func (w *bitWriter) flush() {
	if w.n > 0 {
		w.put(0xFF, 8-w.n)
	}
	w.acc, w.n = 0, 0
}

// block writes coefficients from to last; a difference to dc means the first.
func (w *bitWriter) block(c *[64]int, dc *int, from, last int) {
	if from == 0 {
		w.coefficient(dcCode, 0, c[0]-*dc)
		*dc = c[0]
		from = 1
	}
	zeros := 0
	for k := from; k <= last; k++ {
		if c[k] == 0 {
			zeros++
			continue
		}
		for ; zeros > 15; zeros -= 16 {
			w.symbol(acCode, 0xF0)
		}
		w.coefficient(acCode, zeros, c[k])
		zeros = 0
	}
	if zeros > 0 {
		w.symbol(acCode, 0x00)
	}
}

func (w *bitWriter) coefficient(table *[256]code, zeros, value int) {
	magnitude := bits.Len(uint(max(value, -value)))
	w.symbol(table, byte(zeros<<4|magnitude))
	if value < 0 {
		value--
	}
	w.put(uint64(value), magnitude)
}

func (w *bitWriter) symbol(table *[256]code, s byte) {
	c := table[s]
	if c.length == 0 {
		panic("testjpeg: a symbol that the tables lack")
	}
	w.put(uint64(c.bits), c.length)
}

type code struct {
	bits   uint64
	length int
}

// The codes are all of one length: simple, and every symbol that can occur has one.
var (
	dcSymbols, acSymbols = symbols()
	dcCode               = codes(dcSymbols, 4)
	acCode               = codes(acSymbols, 8)
	endSymbols           = append(acSymbols[:len(acSymbols):len(acSymbols)], endings()...) // of progressive scans
	endCode              = codes(endSymbols, 8)
)

// endings are the symbols of runs of blocks that have nothing more.
func endings() (all []byte) {
	for size := range byte(14) {
		all = append(all, (size+1)<<4)
	}
	return all
}

func symbols() (dc, ac []byte) {
	ac = []byte{0x00, 0xF0}
	for size := range 12 {
		dc = append(dc, byte(size))
		for run := 0; run < 16 && size > 0 && size < 11; run++ {
			ac = append(ac, byte(run<<4|size))
		}
	}
	return dc, ac
}

func codes(symbols []byte, length int) *[256]code {
	var c [256]code
	for i, s := range symbols {
		c[s] = code{uint64(i), length}
	}
	return &c
}

// huffmanTable is the content of a DHT segment.
func huffmanTable(id byte, symbols []byte, length int) []byte {
	body := make([]byte, 17)
	body[0] = id
	body[length] = byte(len(symbols))
	return append(body, symbols...)
}
