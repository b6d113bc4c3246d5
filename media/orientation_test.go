package media_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/testjpeg"
)

// entry of a TIFF directory. A value of up to four bytes is in the entry, a longer
// one after the directory.
type entry struct {
	tag, kind uint16
	count     uint32
	value     []byte
}

// exif is a segment for testjpeg.Layout.
func exif(order string, entries ...entry) []byte {
	var o binary.AppendByteOrder = binary.LittleEndian
	if order == "MM" {
		o = binary.BigEndian
	}
	tiff := o.AppendUint32(o.AppendUint16([]byte(order), 42), 8)
	tiff = o.AppendUint16(tiff, uint16(len(entries)))
	var behind []byte
	for _, e := range entries {
		tiff = o.AppendUint32(o.AppendUint16(o.AppendUint16(tiff, e.tag), e.kind), e.count)
		if len(e.value) > 4 {
			tiff = o.AppendUint32(tiff, uint32(10+12*len(entries)+4+len(behind)))
			behind = append(behind, e.value...)
			continue
		}
		tiff = append(append(tiff, e.value...), make([]byte, 4-len(e.value))...)
	}
	tiff = append(o.AppendUint32(tiff, 0), behind...)
	return append([]byte("\xE1Exif\x00\x00"), tiff...)
}

func xmp(text string) []byte { return []byte("\xE1http://ns.adobe.com/xap/1.0/\x00" + text) }

// The orientation is the one that Pillow finds.
func TestOrientation(t *testing.T) {
	model := entry{tag: 0x0110, kind: 2, count: 8, value: []byte("Camera1\x00")}
	segments := map[string][][]byte{"none": nil}
	for o := range 10 {
		big, little := []byte{0, byte(o)}, []byte{byte(o), 0}
		segments[fmt.Sprint("MM ", o)] = [][]byte{exif("MM", model, entry{0x0112, 3, 1, big})}
		segments[fmt.Sprint("II ", o)] = [][]byte{exif("II", entry{0x0112, 3, 1, little}, model)}
		segments[fmt.Sprint("XMP attribute ", o)] = [][]byte{xmp(fmt.Sprintf(`<rdf:Description tiff:Orientation="%d"/>`, o))}
		segments[fmt.Sprint("XMP element ", o)] = [][]byte{xmp(fmt.Sprintf(`<tiff:Orientation>%d</tiff:Orientation>`, o))}
	}
	segments["LONG"] = [][]byte{exif("MM", entry{0x0112, 4, 1, []byte{0, 0, 0, 6}})}
	segments["two values"] = [][]byte{exif("MM", entry{0x0112, 3, 2, []byte{0, 6, 0, 3}})}
	segments["three values"] = [][]byte{exif("II", entry{0x0112, 3, 3, []byte{6, 0, 3, 0, 2, 0}})}
	segments["text"] = [][]byte{exif("II", entry{0x0112, 2, 2, []byte("6\x00")})}
	segments["EXIF before XMP"] = [][]byte{xmp(`tiff:Orientation="3"`), exif("MM", entry{0x0112, 3, 1, []byte{0, 6}})}
	segments["EXIF without, XMP with"] = [][]byte{exif("MM", model), xmp(`tiff:Orientation="3"`)}
	segments["empty directory"] = [][]byte{exif("MM")}
	for name, s := range segments {
		data := testjpeg.Noise(8, 8, 1, testjpeg.Layout{Segments: s})
		want := oracle.Orientation(t, data)
		if want < 1 || want > 8 {
			want = 1 // numbers without meaning turn nothing
		}
		if info, err := media.Probe(data); err != nil || info.Orientation != want {
			t.Errorf("%s: %d, %v; want %d", name, info.Orientation, err, want)
		}
	}
}

// Directories that lie about themselves are no directories.
func TestHostileEXIF(t *testing.T) {
	good := exif("MM", entry{0x0110, 2, 8, []byte("Camera1\x00")}, entry{0x0112, 3, 9, make([]byte, 18)})
	r := rand.New(rand.NewPCG(1, 1))
	for range 20000 {
		bad := append([]byte{}, good...)
		for range 1 + r.IntN(4) {
			at := 7 + r.IntN(len(bad)-7)
			bad[at] = []byte{0, 1, 0x7F, 0x80, 0xFF, byte(r.Uint32())}[r.IntN(6)]
		}
		bad = bad[:len(bad)-r.IntN(len(bad)-7)]
		info, err := media.Probe(testjpeg.Noise(1, 1, 1, testjpeg.Layout{Segments: [][]byte{bad}}))
		if err != nil || info.Orientation < 1 || info.Orientation > 8 {
			t.Fatalf("%+v, %v: % x", info, err, bad)
		}
	}
}
