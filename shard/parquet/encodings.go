package parquet

import (
	"encoding/binary"
	"fmt"
)

// Encodings of values.
const (
	encodingPlain           = 0
	encodingPlainDictionary = 2
	encodingRLE             = 3
	encodingDelta           = 5
	encodingDeltaLength     = 6
	encodingDeltaBytes      = 7
	encodingRLEDictionary   = 8
	encodingSplit           = 9
)

func encodingName(e int) string {
	names := []string{"PLAIN", "GROUP_VAR_INT", "PLAIN_DICTIONARY", "RLE", "BIT_PACKED", "DELTA_BINARY_PACKED",
		"DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY", "RLE_DICTIONARY", "BYTE_STREAM_SPLIT"}
	if e < 0 || e >= len(names) {
		return fmt.Sprintf("encoding %d", e)
	}
	return names[e]
}

func little32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }
