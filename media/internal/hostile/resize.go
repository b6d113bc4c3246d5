package hostile

import (
	"bytes"
	"encoding/binary"

	"github.com/headrace/headrace/media"
)

// Resized is an intact file whose header states another size, wherever the format does
// so; nil where that size cannot be stated.
func Resized(data []byte, format string, width, height uint32) []byte {
	b := bytes.Clone(data)
	switch format {
	case media.JPEG:
		return resizedJPEG(b, width, height)
	case media.PNG:
		binary.BigEndian.PutUint32(b[16:], width)
		binary.BigEndian.PutUint32(b[20:], height)
		return recrc(b)
	case media.WebP:
		return resizedWebP(b, width, height)
	case media.AVIF:
		return resizedAVIF(b, width, height)
	case media.GIF:
		return resizedGIF(b, width, height)
	case media.BMP:
		binary.LittleEndian.PutUint32(b[18:], width)
		binary.LittleEndian.PutUint32(b[22:], height)
		return b
	}
	return resizedTIFF(b, width, height)
}

func resizedJPEG(b []byte, width, height uint32) []byte {
	if width > 0xFFFF || height > 0xFFFF {
		return nil
	}
	for at := 2; at+9 < len(b); at += 2 + int(binary.BigEndian.Uint16(b[at+2:])) {
		if marker := b[at+1]; marker >= 0xC0 && marker <= 0xC2 {
			binary.BigEndian.PutUint16(b[at+5:], uint16(height))
			binary.BigEndian.PutUint16(b[at+7:], uint16(width))
			return b
		}
	}
	return nil
}

func resizedGIF(b []byte, width, height uint32) []byte {
	if width > 0xFFFF || height > 0xFFFF {
		return nil
	}
	putGIFSize(b[6:], width, height)
	at := 13 + 3<<(1+b[10]&7)
	for b[at] == '!' {
		for at += 2; b[at] != 0; at += 1 + int(b[at]) {
		}
		at++
	}
	putGIFSize(b[at+5:], width, height)
	return b
}

func putGIFSize(b []byte, width, height uint32) {
	binary.LittleEndian.PutUint16(b, uint16(width))
	binary.LittleEndian.PutUint16(b[2:], uint16(height))
}

func resizedWebP(b []byte, width, height uint32) []byte {
	if width == 0 || height == 0 || width > 1<<24 || height > 1<<24 {
		return nil // sizes are stored less one
	}

	for at := 12; at+18 < len(b); {
		body := b[at+8:]
		switch string(b[at : at+4]) {
		case "VP8X":
			put24(body[4:], width-1)
			put24(body[7:], height-1)
		case "VP8 ":
			if width > 0x3FFF || height > 0x3FFF {
				return b
			}
			binary.LittleEndian.PutUint16(body[6:], uint16(width))
			binary.LittleEndian.PutUint16(body[8:], uint16(height))
		case "VP8L":
			if width > 0x4000 || height > 0x4000 {
				return b
			}
			bits := binary.LittleEndian.Uint32(body[1:])
			binary.LittleEndian.PutUint32(body[1:], bits&^(1<<28-1)|(width-1)|(height-1)<<14)
		case "ANMF":
			put24(body[6:], width-1)
			put24(body[9:], height-1)
			at += 8 + 16
			continue
		}

		n := int(binary.LittleEndian.Uint32(b[at+4:]))
		at += 8 + n + n&1
	}
	return b
}

func put24(b []byte, v uint32) { b[0], b[1], b[2] = byte(v), byte(v>>8), byte(v>>16) }

func resizedAVIF(b []byte, width, height uint32) []byte {
	for at := 0; ; at += 4 {
		i := bytes.Index(b[at:], []byte("ispe"))
		if i < 0 {
			return b
		}
		at += i
		binary.BigEndian.PutUint32(b[at+8:], width)
		binary.BigEndian.PutUint32(b[at+12:], height)
	}
}

func resizedTIFF(b []byte, width, height uint32) []byte {
	setTIFF(b, 256, width)
	setTIFF(b, 257, height)
	return b
}

// setTIFF gives a tag of the first directory one value of 32 bits, if the tag is there.
func setTIFF(b []byte, tag uint16, value uint32) {
	order := binary.ByteOrder(binary.LittleEndian)
	if b[0] == 'M' {
		order = binary.BigEndian
	}
	at := int(order.Uint32(b[4:]))
	for range order.Uint16(b[at:]) {
		if entry := b[at+2:]; order.Uint16(entry) == tag {
			order.PutUint16(entry[2:], 4)
			order.PutUint32(entry[4:], 1)
			order.PutUint32(entry[8:], value)
		}
		at += 12
	}
}
