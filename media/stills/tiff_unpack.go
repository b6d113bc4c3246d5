package stills

import (
	"bytes"
	"compress/zlib"
	"io"

	"golang.org/x/image/ccitt"
	"golang.org/x/image/tiff/lzw"
)

// unpacker reads the bytes of one strip or tile after the other.
type unpacker struct {
	in      bytes.Reader // what is compressed
	bits    packBits
	inflate io.ReadCloser // used again
}

// open returns what reads a block. It stops where its caller does: what a block holds
// beyond its rows is never uncompressed.
func (u *unpacker) open(t *tiff, compressed []byte) (io.Reader, error) {
	u.in.Reset(compressed)
	switch t.value(tagCompression, 1) {
	case faxGroup3:
		return t.fax(&u.in, ccitt.Group3), nil
	case faxGroup4:
		return t.fax(&u.in, ccitt.Group4), nil
	case 5:
		return lzw.NewReader(&u.in, lzw.MSB, 8), nil
	case 8, 32946:
		if u.inflate == nil {
			r, err := zlib.NewReader(&u.in)
			u.inflate = r
			return r, err
		}
		return u.inflate, u.inflate.(zlib.Resetter).Reset(&u.in, nil)
	case 32773:
		u.bits = packBits{in: &u.in}
		return &u.bits, nil
	}
	return &u.in, nil
}

// Runs of a fax are 0 and 1 in turn, whatever these numbers mean.
func (t *tiff) fax(r io.Reader, group ccitt.SubFormat) io.Reader {
	order := ccitt.MSB
	if t.value(tagFillOrder, 1) == 2 {
		order = ccitt.LSB
	}
	return ccitt.NewReader(r, order, group, t.blockWidth, t.blockHeight, &ccitt.Options{Invert: true})
}

// readRow fills a row. That there is nothing left is an error, too.
func readRow(r io.Reader, row []byte) error {
	_, err := io.ReadFull(r, row)
	return err
}

// packBits uncompresses runs: a byte says how often the next is repeated, or how many
// follow as they are.
type packBits struct {
	in     *bytes.Reader
	copied int // bytes that follow as they are
	times  int // how often value comes again
	value  byte
}

// Read implements [io.Reader].
func (p *packBits) Read(b []byte) (n int, err error) {
	for n < len(b) {
		switch {
		case p.times > 0:
			k := min(p.times, len(b)-n)
			for i := range k {
				b[n+i] = p.value
			}
			n, p.times = n+k, p.times-k
		case p.copied > 0:
			k, err := p.in.Read(b[n:][:min(p.copied, len(b)-n)])
			n, p.copied = n+k, p.copied-k
			if err != nil {
				return n, err
			}
		default:
			if err := p.begin(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// begin reads the next run's length.
func (p *packBits) begin() error {
	v, err := p.in.ReadByte()
	if err != nil {
		return err
	}
	switch code := int(int8(v)); {
	case code >= 0:
		p.copied = code + 1
	case code > -128:
		p.times = 1 - code
		p.value, err = p.in.ReadByte()
	}
	return err
}
