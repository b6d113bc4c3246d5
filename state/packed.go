package state

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Sources are the places of sources, by the names of their steps. As JSON they are an
// object, or packed: the Python client packs those of a pipeline that has many.
type Sources map[string]Source

const (
	packedAs   = "zlib:" // and base64, of JSON
	mostPacked = 1 << 26 // bytes of it
)

// UnmarshalJSON reads places that may be packed.
func (s *Sources) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		var err error
		if text, err = unpack(text, mostPacked); err != nil {
			return fmt.Errorf("state: packed sources: %w", err)
		}
	}
	return json.Unmarshal(text, (*map[string]Source)(s))
}

func unpack(text []byte, most int) ([]byte, error) {
	var packed string
	if err := json.Unmarshal(text, &packed); err != nil {
		return nil, err
	}
	rest, ok := strings.CutPrefix(packed, packedAs)
	if !ok {
		return nil, fmt.Errorf("text that does not begin with %q", packedAs)
	}

	// Nobody has checked it: it may be larger than it says, or cut off.
	data, err := base64.StdEncoding.DecodeString(rest)
	if err != nil {
		return nil, err
	}
	r, err := zlib.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	switch {
	case err != nil:
		return nil, err
	case len(plain) > most:
		return nil, fmt.Errorf("more than %d bytes", most)
	case len(plain) == 0 || plain[0] != '{':
		return nil, errors.New("no places")
	}
	return plain, nil
}
