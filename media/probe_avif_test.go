package media_test

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"

	"github.com/headrace/headrace/media"
)

// Items that refer to the image in great number, properties in great number, and
// associations of many with many: what is looked up again for each of the others would
// take hours.
func TestProbeAVIFTangled(t *testing.T) {
	const many = 60_000
	box := func(kind string, parts ...[]byte) []byte {
		body := bytes.Join(parts, nil)
		return append(append(binary.BigEndian.AppendUint32(nil, uint32(8+len(body))), kind...), body...)
	}
	size := box("ispe", []byte{0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0, 10})
	toPicture := bytes.Repeat([]byte{0, 1}, many)
	list := append(size, bytes.Repeat(box("free"), 1<<15)...)
	end := []byte{0xFF, 0xFF} // the index of the last property
	associations := append([]byte{0, 2, 255}, bytes.Repeat(end, 255)...)
	associations = append(associations, bytes.Repeat([]byte{0, 3, 0}, many)...)
	associations = append(associations, 0, 1, 1, 0x80, 1)
	data := append(box("ftyp", []byte("avif\x00\x00\x00\x00avif")), box("meta", []byte{0, 0, 0, 0},
		box("pitm", []byte{0, 0, 0, 0, 0, 1}),
		box("iref", []byte{0, 0, 0, 0}, box("auxl", []byte{0, 2, 0xFF, 0xFF}, toPicture), bytes.Repeat(box("auxl", []byte{0, 2, 0, 1, 0, 1}), many)),
		box("iprp", box("ipco", list), box("ipma", []byte{0, 0, 0, 1, 0, 0, 0xFF, 0xFF}, associations)))...)
	began := time.Now()
	info, err := media.Probe(data)
	if err != nil || info.Width != 20 || info.Height != 10 || info.Alpha {
		t.Errorf("%+v, %v", info, err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}
