package media

import (
	"bytes"
	"encoding/binary"
)

var (
	exifPrefix = []byte("Exif\x00\x00")
	xmpPrefix  = []byte("http://ns.adobe.com/xap/1.0/\x00")
	xmpTag     = []byte("tiff:Orientation")
)

// orientation returns what EXIF says, and XMP where EXIF does not say anything; 1 if
// neither says a number from 1 to 8. The data may be nil or hostile.
func orientation(exif, xmp []byte) int {
	o, ok := exifOrientation(exif)
	if !ok {
		o = xmpOrientation(xmp)
	}
	if o < 1 || o > 8 {
		return 1
	}
	return o
}

// exifOrientation looks the tag up in the first directory of the TIFF structure that
// EXIF is.
func exifOrientation(tiff []byte) (value int, ok bool) {
	const tagOrientation, entry = 0x0112, 12
	if len(tiff) < 8 {
		return 0, false
	}

	var order binary.ByteOrder
	switch string(tiff[:4]) {
	case "II*\x00":
		order = binary.LittleEndian
	case "MM\x00*":
		order = binary.BigEndian
	default:
		return 0, false
	}

	at := int64(order.Uint32(tiff[4:]))
	if at+2 > int64(len(tiff)) {
		return 0, false
	}

	directory := tiff[at:]
	n := int(order.Uint16(directory))
	for directory = directory[2:]; n > 0 && len(directory) >= entry; n-- {
		if order.Uint16(directory) == tagOrientation {
			return firstInteger(tiff, directory[:entry], order)
		}
		directory = directory[entry:]
	}
	return 0, false
}

// firstInteger returns the first value of an entry: it should be one of type SHORT, but
// any type of integer is taken.
func firstInteger(tiff, entry []byte, order binary.ByteOrder) (int, bool) {
	const short, long, signedShort, signedLong = 3, 4, 8, 9

	count := uint64(order.Uint32(entry[4:]))
	var size uint64
	switch order.Uint16(entry[2:]) {
	case short, signedShort:
		size = 2
	case long, signedLong:
		size = 4
	default:
		return 0, false
	}

	value := entry[8:]
	if count == 0 {
		return 0, false
	}
	if count*size > 4 { // then the entry holds where the values are
		at := uint64(order.Uint32(value))
		if at+count*size > uint64(len(tiff)) {
			return 0, false
		}
		value = tiff[at:]
	}

	if size == 2 {
		return int(order.Uint16(value)), true
	}
	return int(int32(order.Uint32(value))), true
}

// xmpOrientation finds the property without parsing XML: as an attribute or as an
// element.
func xmpOrientation(xmp []byte) int {
	for {
		i := bytes.Index(xmp, xmpTag)
		if i < 0 {
			return 0
		}
		xmp = xmp[i+len(xmpTag):]
		digit := xmp
		switch {
		case bytes.HasPrefix(digit, []byte(`="`)):
			digit = digit[2:]
		case bytes.HasPrefix(digit, []byte(`>`)):
			digit = digit[1:]
		}
		if len(digit) < len(xmp) && len(digit) > 0 && digit[0] >= '0' && digit[0] <= '9' {
			return int(digit[0] - '0')
		}
	}
}
