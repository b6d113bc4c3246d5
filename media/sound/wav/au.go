package wav

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/headrace/headrace/media/sound"
)

const leastAU = 24

// isAU reports whether a file begins as AU does. Some writers have all numbers with their
// lowest byte first, the mark, too; as "dns." may be text, their encoding is looked at.
func isAU(file []byte) bool {
	if len(file) < leastAU {
		return false
	}
	switch string(file[:4]) {
	case ".snd":
		return true
	case "dns.":
		return file[12] < 32 && file[13] == 0
	}
	return false
}

// openAU finds the samples of Sun's AU. Its head says all.
func openAU(file *sound.Content) (*File, error) {
	head, err := file.Bytes(0, leastAU)
	if err != nil {
		return nil, err
	}
	if len(head) < leastAU {
		return nil, fmt.Errorf("au: the file is damaged: its head has %d of %d bytes", len(head), leastAU)
	}
	order, big := binary.ByteOrder(binary.BigEndian), true
	if string(head[:4]) == "dns." {
		order, big = binary.LittleEndian, false
	}
	at, size := int64(order.Uint32(head[4:])), int64(order.Uint32(head[8:]))
	if at < leastAU {
		return nil, fmt.Errorf("au: the file is damaged: its samples begin at byte %d, in the head", at)
	}
	if size == math.MaxUint32 { // a pipe wrote it: all until the end
		size = file.Size() - at
	}

	f := &File{content: file}
	how := order.Uint32(head[12:])
	switch how {
	case 1:
		f.coding, f.width = muLaw, 1
	case 2, 3, 4, 5:
		f.width = int(how) - 1
		f.coding = pcmOf(f.width, big)
	case 6:
		f.coding, f.width = codingOf(codeFloat, 4, big), 4
	case 7:
		f.coding, f.width = codingOf(codeFloat, 8, big), 8
	case 23, 25, 26:
		return nil, fmt.Errorf("au: the samples are of number %d, G.721 or G.723, which is not supported: "+
			"convert the file, as with libsndfile", how)
	case 27:
		f.coding, f.width = aLaw, 1
	default:
		return nil, codedAs("au", fmt.Sprintf("number %d", how))
	}
	channels := int(min(order.Uint32(head[20:]), math.MaxInt32))
	return f, f.finish("au", channels, float64(order.Uint32(head[16:])), at, size, math.MaxInt64)
}
