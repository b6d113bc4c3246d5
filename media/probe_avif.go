package media

import (
	"encoding/binary"
	"fmt"
)

// isAVIF looks for one of the two brands, as the major one or among the compatible ones.
func isAVIF(data []byte) bool {
	kind, body, _, ok := nextBox(data)
	if !ok || kind != "ftyp" || len(body) < 4 {
		return false
	}
	if isAVIFBrand(body[:4]) {
		return true
	}
	for body = body[min(len(body), 8):]; len(body) >= 4; body = body[4:] {
		if isAVIFBrand(body) {
			return true
		}
	}
	return false
}

func isAVIFBrand(brand []byte) bool {
	return string(brand[:4]) == "avif" || string(brand[:4]) == "avis"
}

// probeAVIF reads what the file says of its primary item. What turns it are properties
// of its own; EXIF is not asked.
func probeAVIF(data []byte) (Info, error) {
	info := Info{Format: AVIF, Orientation: 1, Bits: 8, Components: 3}
	_, brands, rest, _ := nextBox(data)
	info.Animated = string(brands[:4]) == "avis"
	for {
		var kind string
		var body []byte
		var ok bool
		if kind, body, rest, ok = nextBox(rest); !ok {
			return info, fmt.Errorf("%w: AVIF ends before it has said what it holds", ErrTruncated)
		}
		switch kind {
		case "meta":
			return info, avifMeta(&info, body)
		case "moov":
			return info, avifMovie(&info, body)
		}
	}
}

// avifMeta reads the properties of the primary item.
func avifMeta(info *Info, meta []byte) error {
	f := avifItems{}
	for rest := skip(meta, 4); ; {
		var kind string
		var body []byte
		var ok bool
		if kind, body, rest, ok = nextBox(rest); !ok {
			break
		}

		switch kind {
		case "pitm":
			f.primary = avifNumber(skip(body, 4), len(body) > 0 && body[0] > 0)
		case "iref":
			f.references = body
		case "iprp":
			f.splitProperties(body)
		}
	}

	p := f.properties(f.primary)
	if !p.hasSize {
		return fmt.Errorf("%w: AVIF without the size of its image", ErrCorrupt)
	}

	info.Width, info.Height = p.width, p.height
	if p.bits != 0 {
		info.Bits = p.bits
	}
	if p.monochrome {
		info.Components = 1
	}
	info.setAlpha(f.hasAlpha())
	info.Orientation = avifOrientation(p.turns, p.mirrors, p.axis)
	return checkSize("AVIF", info.Width, info.Height)
}

// avifItems is where a file says what its items are like.
type avifItems struct {
	primary      uint32
	references   []byte // content of iref
	list         []byte // content of ipco: the properties, one after the other
	associations []byte // content of ipma: which items have which
}

func (f *avifItems) splitProperties(iprp []byte) {
	for rest := iprp; ; {
		var kind string
		var body []byte
		var ok bool
		if kind, body, rest, ok = nextBox(rest); !ok {
			return
		}
		switch {
		case kind == "ipco":
			f.list = body
		case kind == "ipma" && f.associations == nil:
			f.associations = body
		}
	}
}

// avifProperties of one item.
type avifProperties struct {
	width, height int
	hasSize       bool
	bits          int
	monochrome    bool
	alpha         bool // it is the alpha channel of another
	turns         int  // quarter turns against the clock
	mirrors       bool
	axis          byte // of the mirror: 0 exchanges top and bottom, 1 left and right
}

// properties are those of an item, of whose entries the first counts.
func (f *avifItems) properties(item uint32) (p avifProperties) {
	if len(f.associations) < 8 {
		return p
	}
	wideItem, width := f.associations[0] > 0, 1
	if f.associations[3]&1 != 0 {
		width = 2
	}
	entries := binary.BigEndian.Uint32(f.associations[4:])
	for rest := f.associations[8:]; entries > 0 && len(rest) >= 3; entries-- {
		id := avifNumber(rest, wideItem)
		rest = skip(rest, avifNumberSize(wideItem))
		if len(rest) == 0 {
			break
		}
		indexes := rest[1:][:min(int(rest[0])*width, len(rest)-1)]
		if id == item {
			p.takeAll(f.list, indexes, width)
			break
		}
		rest = rest[1+len(indexes):]
	}
	return p
}

// takeAll takes those that the indexes name, counted from 1. The list is walked once: a
// file may name the end of a long one again and again.
func (p *avifProperties) takeAll(list, indexes []byte, width int) {
	for i := 1; ; i++ {
		kind, body, rest, ok := nextBox(list)
		if !ok {
			return
		}
		if namesIndex(indexes, width, i) {
			p.take(kind, body)
		}
		list = rest
	}
}

// namesIndex looks for a number among indexes of so many bytes, whose upper bit says
// that the property must be understood.
func namesIndex(indexes []byte, width, i int) bool {
	for ; len(indexes) >= width; indexes = indexes[width:] {
		index := int(indexes[0] & 0x7F)
		if width == 2 {
			index = index<<8 | int(indexes[1])
		}
		if index == i {
			return true
		}
	}
	return false
}

func (p *avifProperties) take(kind string, body []byte) {
	switch {
	case kind == "ispe" && len(body) >= 12:
		width, height := binary.BigEndian.Uint32(body[4:]), binary.BigEndian.Uint32(body[8:])
		p.width, p.height, p.hasSize = int(width&0x7FFFFFFF), int(height&0x7FFFFFFF), true
	case kind == "pixi" && len(body) >= 6:
		p.bits = int(body[5])
	case kind == "av1C" && len(body) >= 3:
		p.bits = 8
		if body[2]&0x40 != 0 {
			p.bits = 10
			if body[2]&0x20 != 0 {
				p.bits = 12
			}
		}
		p.monochrome = body[2]&0x10 != 0
	case kind == "irot" && len(body) >= 1:
		p.turns = int(body[0] & 3)
	case kind == "imir" && len(body) >= 1:
		p.mirrors, p.axis = true, body[0]&1
	case kind == "auxC" && len(body) >= 4:
		urn := body[4:]
		for _, alpha := range [...]string{"urn:mpeg:mpegB:cicp:systems:auxiliary:alpha\x00", "urn:mpeg:hevc:2015:auxid:1\x00"} {
			p.alpha = p.alpha || len(urn) >= len(alpha) && string(urn[:len(alpha)]) == alpha
		}
	}
}

// hasAlpha looks for an item that says it is the alpha channel of the primary one. A
// image has a few auxiliary items, if any: more are not looked at, since each costs a
// walk over all associations.
func (f *avifItems) hasAlpha() bool {
	const most = 16
	if len(f.references) < 4 {
		return false
	}
	wide := f.references[0] > 0
	size := avifNumberSize(wide)
	tried := 0
	for rest := f.references[4:]; tried < most; {
		var kind string
		var body []byte
		var ok bool
		if kind, body, rest, ok = nextBox(rest); !ok {
			return false
		}
		if kind != "auxl" || len(body) < size+2 || !f.refersToPrimary(body[size+2:], wide) {
			continue
		}
		if f.properties(avifNumber(body, wide)).alpha {
			return true
		}
		tried++
	}
	return false
}

func (f *avifItems) refersToPrimary(items []byte, wide bool) bool {
	for size := avifNumberSize(wide); len(items) >= size; items = items[size:] {
		if avifNumber(items, wide) == f.primary {
			return true
		}
	}
	return false
}

// avifMovie reads the size of the first track of images, where a sequence comes
// without a still.
func avifMovie(info *Info, moov []byte) error {
	info.Animated = true
	for rest := moov; ; {
		var kind string
		var body []byte
		var ok bool
		if kind, body, rest, ok = nextBox(rest); !ok {
			return fmt.Errorf("%w: AVIF sequence without the size of its images", ErrCorrupt)
		}
		if kind != "trak" {
			continue
		}
		// The header of a track ends with width and height in fixed point.
		if kind, header, _, ok := nextBox(body); ok && kind == "tkhd" && len(header) >= 84 {
			size := header[len(header)-8:]
			info.Width, info.Height = int(binary.BigEndian.Uint16(size)), int(binary.BigEndian.Uint16(size[4:]))
			return checkSize("AVIF", info.Width, info.Height)
		}
	}
}

// avifOrientation is EXIF's number for a turn, and a mirror after it.
func avifOrientation(turns int, mirrors bool, axis byte) int {
	switch {
	case !mirrors:
		return [4]int{1, 8, 3, 6}[turns]
	case axis == 0:
		return [4]int{4, 5, 2, 7}[turns]
	}
	return [4]int{2, 7, 4, 5}[turns]
}

// nextBox returns the next box of ISO's base media file format.
func nextBox(data []byte) (kind string, body, rest []byte, ok bool) {
	if len(data) < 8 {
		return "", nil, nil, false
	}
	n, head := uint64(binary.BigEndian.Uint32(data)), uint64(8)
	switch n {
	case 0:
		n = uint64(len(data))
	case 1:
		if len(data) < 16 {
			return "", nil, nil, false
		}
		n, head = binary.BigEndian.Uint64(data[8:]), 16
	}
	if n < head || n > uint64(len(data)) {
		return "", nil, nil, false
	}
	return boxName(data[4:8]), data[head:n], data[n:], true
}

// boxName is the name of a box that matters here, without an allocation; "other" of all
// others.
func boxName(name []byte) string {
	for _, known := range [...]string{
		"ftyp", "meta", "moov", "trak", "tkhd", "pitm", "iref", "iprp", "ipco", "ipma", "ispe",
		"pixi", "av1C", "irot", "imir", "auxC", "auxl",
	} {
		if string(name) == known {
			return known
		}
	}
	return "other"
}

func skip(b []byte, n int) []byte { return b[min(n, len(b)):] }

// avifNumber is the number of an item: of 32 bits, or of 16.
func avifNumber(b []byte, wide bool) uint32 {
	switch {
	case wide && len(b) >= 4:
		return binary.BigEndian.Uint32(b)
	case !wide && len(b) >= 2:
		return uint32(binary.BigEndian.Uint16(b))
	}
	return 0
}

func avifNumberSize(wide bool) int {
	if wide {
		return 4
	}
	return 2
}
